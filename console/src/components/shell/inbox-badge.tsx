import { useEffect } from 'preact/hooks'
import { reconnections } from '../../api/connection.ts'
import { countInbox, inboxCount } from '../../api/inbox-count.ts'

/** How often the number is read again while the page is visible, in milliseconds. */
const interval = 15_000

/** How many tasks wait for a person. */
export function InboxBadge() {
  const attempt = reconnections.value
  useEffect(() => {
    countInbox()
    const timer = setInterval(() => !document.hidden && countInbox(), interval)
    return () => clearInterval(timer)
  }, [attempt])
  if (inboxCount.value === '') return null
  return (
    <span class="nav-badge">
      {inboxCount.value}
      <span class="visually-hidden"> waiting</span>
    </span>
  )
}
