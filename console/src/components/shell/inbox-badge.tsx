import { inbox, maxInbox } from '../../api/inbox.ts'

/** How many tasks wait for a person. */
export function InboxBadge() {
  const { count } = inbox.value
  if (count === 0) return null
  return (
    <span class="nav-badge">
      {count >= maxInbox ? `${maxInbox}+` : count}
      <span class="visually-hidden"> waiting</span>
    </span>
  )
}
