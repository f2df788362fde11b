#pragma once

namespace tenon::base {

/// Whether AddressSanitizer or ThreadSanitizer watches: both keep freed memory for a while, so RSS
/// says nothing, and open descriptors of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // As gcc says it.
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tenon::base
