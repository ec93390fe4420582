// Which sanitizers this program was built with. They keep freed memory, so that what a process holds says little under them.
#pragma once

namespace tenon::testing {

#if defined(__has_feature)
#define TENON_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define TENON_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || TENON_TEST_HAS_FEATURE(address_sanitizer) || \
    TENON_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool sanitizer_keeps_memory = true;
#else
inline constexpr bool sanitizer_keeps_memory = false;
#endif

}  // namespace tenon::testing
