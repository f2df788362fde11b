#include "plugin/watch_session.h"

#include "base/check.h"

namespace tenon::plugin {

void WatchSession::Offer(ListBytes list) {
  newest_ = std::move(list);
  WriteIfNewer();
}

void WatchSession::OnWritten() {
  TENON_CHECK(writing_);
  writing_ = false;
  WriteIfNewer();
}

void WatchSession::WriteIfNewer() {
  if (writing_ || !newest_) return;
  if (sent_ && (sent_ == newest_ || *sent_ == *newest_)) return;
  sent_ = newest_;
  writing_ = true;
  write_(sent_);
}

}  // namespace tenon::plugin
