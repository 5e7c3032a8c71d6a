import { agents } from '../../api/agents.ts'
import { credentialsNeeded } from '../../api/connections.ts'
import { Dialog } from '../dialog.tsx'
import { ConnectForm } from './connect-form.tsx'

/** Asks for the credentials of an agent that has refused a call. The page below keeps its content. */
export function CredentialsDialog() {
  const agent = agents.value.find(({ id }) => id === credentialsNeeded.value)
  const close = () => {
    credentialsNeeded.value = undefined
  }
  if (!agent?.foreign) return null
  return (
    <Dialog title={`${agent.name} needs credentials`} onClose={close}>
      <p class="muted">The agent has refused the call. After connecting again, send it once more.</p>
      <ConnectForm agent={{ url: agent.foreign.reference, schemes: agent.foreign.schemes }} onConnected={close} />
    </Dialog>
  )
}
