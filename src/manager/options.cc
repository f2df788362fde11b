#include "manager/options.h"

namespace tenon::manager {

ManagerOptions CompatibleOptions() {
  // A call has to have one; nobody will see the end of this.
  constexpr base::Duration kNone = std::chrono::hours(24 * 365);
  ManagerOptions options;
  options.options_deadline = kNone;
  options.allocate_deadline = kNone;
  options.preferred_deadline = kNone;
  options.any_endpoint = true;
  options.compat = true;
  return options;
}

}  // namespace tenon::manager
