import { useAgent } from 'parley-a2a/react'
import { createRoot } from 'react-dom/client'

/** A chat with `useAgent`, as an application writes it. */

const agent = new URLSearchParams(location.search).get('agent') ?? ''

function Chat() {
  const { messages, status, question, error, send, answer, cancel } = useAgent({ agent, id: 'chat' })
  return (
    <>
      <output>{status}</output>
      {error !== undefined && <p role="alert">{error}</p>}
      <ol>
        {messages.map(({ id, role, parts, problem }) => (
          <li key={id} data-role={role}>
            {parts.map((part) => ('text' in part ? <span key={part.id}>{part.text}</span> : null))}
            {problem !== undefined && <p role="alert">{problem}</p>}
          </li>
        ))}
      </ol>
      {question?.kind === 'approval' && (
        <button type="button" onClick={() => void answer(true)}>
          Approve
        </button>
      )}
      {question?.kind === 'input' && (
        <button type="button" onClick={() => void answer({ city: 'Rome' })}>
          Answer
        </button>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send(`${new FormData(event.currentTarget).get('text')}`)
        }}
      >
        <input name="text" />
        <button type="submit">Send</button>
        <button type="button" onClick={() => void cancel()}>
          Stop
        </button>
      </form>
    </>
  )
}

createRoot(document.body).render(<Chat />)
