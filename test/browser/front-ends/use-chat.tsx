import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import { A2AChatTransport } from 'parley-a2a/ai-sdk/chat'
import { useEffect } from 'react'
import { createRoot } from 'react-dom/client'

/** A chat with `useChat`, as an application writes it. */

const transport = new A2AChatTransport({ agent: new URLSearchParams(location.search).get('agent') ?? '' })
const stored = JSON.parse(localStorage.getItem('messages') ?? '[]')

function Chat() {
  const { messages, status, error, sendMessage, addToolOutput, addToolApprovalResponse, stop } = useChat({
    id: 'chat',
    messages: stored,
    transport,
    resume: true,
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithToolCalls(state) || lastAssistantMessageIsCompleteWithApprovalResponses(state),
  })
  useEffect(() => localStorage.setItem('messages', JSON.stringify(messages)), [messages])
  return (
    <>
      <output>{status}</output>
      {error && <p role="alert">{error.message}</p>}
      <ol>
        {messages.map(({ id, role, parts }) => (
          <li key={id} data-role={role}>
            {parts.map((part, index) => {
              const key = `${id} ${index}`
              if (part.type === 'text') return <span key={key}>{part.text}</span>
              if (part.type !== 'dynamic-tool') return null
              if (part.state === 'approval-requested') {
                return (
                  <button
                    key={key}
                    type="button"
                    onClick={() => addToolApprovalResponse({ id: part.approval.id, approved: true })}
                  >
                    Approve
                  </button>
                )
              }
              if (part.state !== 'input-available' || part.providerExecuted)
                return <code key={key}>{`[${part.toolName} ${part.state}]`}</code>
              const answer = (output: unknown) =>
                addToolOutput({ tool: part.toolName, toolCallId: part.toolCallId, output: output as never })
              return (
                <button key={key} type="button" onClick={() => answer({ city: 'Rome' })}>
                  Answer
                </button>
              )
            })}
          </li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void sendMessage({ text: `${new FormData(event.currentTarget).get('text')}` })
        }}
      >
        <input name="text" />
        <button type="submit">Send</button>
        <button type="button" onClick={() => void stop()}>
          Stop
        </button>
      </form>
    </>
  )
}

createRoot(document.body).render(<Chat />)
