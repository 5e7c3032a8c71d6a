import type { Message } from '@ag-ui/client'
import { A2AAgent } from 'parley-a2a/ag-ui'
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'

/** A chat with an AG-UI agent, as an application writes it. */

const agent = new A2AAgent({
  agent: new URLSearchParams(location.search).get('agent') ?? '',
  threadId: 'chat',
  initialMessages: JSON.parse(localStorage.getItem('messages') ?? '[]'),
})

function Chat() {
  const [messages, setMessages] = useState<readonly Message[]>(agent.messages)
  const [status, setStatus] = useState('ready')
  const [error, setError] = useState<string>()
  const [interrupts, setInterrupts] = useState(agent.pendingInterrupts)
  const follow = async (run: Promise<unknown>) => {
    setStatus('working')
    await run
    setInterrupts([...agent.pendingInterrupts])
    setStatus(agent.pendingInterrupts.length > 0 ? 'waiting' : 'ready')
  }
  // Once per page.
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({
      onMessagesChanged({ messages: changed }) {
        setMessages([...changed])
        localStorage.setItem('messages', JSON.stringify(changed))
      },
      onRunErrorEvent: ({ event }) => setError(event.message),
    })
    void follow(agent.connectAgent())
    return unsubscribe
  }, [])
  const resume = (payload: unknown) => {
    const answers = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload }))
    void follow(agent.runAgent({ resume: answers }))
  }
  return (
    <>
      <output>{status}</output>
      {error !== undefined && <p role="alert">{error}</p>}
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            {typeof message.content === 'string' ? message.content : ''}
          </li>
        ))}
      </ol>
      {interrupts.map(({ id, reason }) => (
        <button
          key={id}
          type="button"
          onClick={() => resume(reason === 'approval' ? { approved: true } : { city: 'Rome' })}
        >
          {reason === 'approval' ? 'Approve' : 'Answer'}
        </button>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const content = `${new FormData(event.currentTarget).get('text')}`
          agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
          void follow(agent.runAgent())
        }}
      >
        <input name="text" />
        <button type="submit">Send</button>
        <button type="button" onClick={() => agent.abortRun()}>
          Stop
        </button>
      </form>
    </>
  )
}

createRoot(document.body).render(<Chat />)
