import { connection } from '../../api/connection.ts'
import { sessionState } from '../../api/session.ts'

/** Says why the page may be out of date; empty while everything works. Screen readers read every change. */
export function ConnectionStatus() {
  const text = statusText()
  return (
    <div class={`connection ${text ? 'connection-problem' : ''}`} role="status">
      {text && (
        <span>
          <span class="connection-dot" aria-hidden="true" />
          {text}
        </span>
      )}
    </div>
  )
}

function statusText(): string | undefined {
  if (connection.value === 'offline') return 'Offline'
  if (connection.value === 'reconnecting') return 'Reconnecting…'
  return sessionState.value.type === 'expired' ? 'Session ended' : undefined
}
