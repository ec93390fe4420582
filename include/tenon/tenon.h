// Everything public.
#pragma once
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/error.h"
#include "tenon/kernel_cache.h"
#include "tenon/llm.h"
#include "tenon/number.h"
#include "tenon/ops.h"
#include "tenon/print.h"
#include "tenon/state.h"
#include "tenon/tensor.h"
#include "tenon/trace.h"
#include "tenon/version.h"
