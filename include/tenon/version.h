#pragma once
#define TENON_VERSION "0.1.0"
