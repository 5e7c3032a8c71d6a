import { type AgentMessage, type AgentQuestion, useAgent, type ViewPart } from 'parley-a2a/react'
import type { FormEvent } from 'react'
import { createRoot } from 'react-dom/client'

type Answer = (value: Record<string, string | number>) => void

function Chat() {
  const { messages, status, question, progress, error, send, answer, cancel, clear } = useAgent({
    agent: new URL('/agent', location.href),
    id: 'travel',
  })

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = `${new FormData(event.currentTarget).get('text')}`
    event.currentTarget.reset()
    void send(text)
  }

  return (
    <>
      <h1>Travel</h1>
      <ol>
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </ol>
      <p role="status">{status === 'working' ? (progress ?? 'Working…') : ''}</p>
      {error !== undefined && <p role="alert">{error}</p>}
      {question?.schema ? (
        <Question key={question.id} question={question} onAnswer={answer} />
      ) : (
        <form onSubmit={submit}>
          <label>
            Message <input name="text" required defaultValue={messages.length === 0 ? 'Plan a trip' : ''} />
          </label>
          <button type="submit" disabled={status === 'working'}>
            Send
          </button>
        </form>
      )}
      <form onSubmit={(event) => event.preventDefault()}>
        {status !== 'ready' && (
          <button type="button" className="quiet" onClick={() => void cancel()}>
            Stop
          </button>
        )}
        {messages.length > 0 && status === 'ready' && (
          <button type="button" className="quiet" onClick={clear}>
            New chat
          </button>
        )}
      </form>
    </>
  )
}

function Message({ message: { role, parts, problem, state } }: { readonly message: AgentMessage }) {
  return (
    <li className={role}>
      {parts.map((part) => (
        <Part key={part.id} part={part} />
      ))}
      {state === 'canceled' && <em>Stopped.</em>}
      {problem !== undefined && <p role="alert">{problem}</p>}
    </li>
  )
}

function Part({ part }: { readonly part: ViewPart }) {
  switch (part.type) {
    case 'text':
      return <div>{part.text}</div>
    case 'reasoning':
      return <em>{part.text}</em>
    case 'tool':
      return <div>{`${part.name}: ${part.state}`}</div>
    case 'file':
      return (
        <a href={part.url} download={part.name}>
          {part.name ?? 'File'}
        </a>
      )
    case 'data':
      return (
        <table>
          <tbody>
            {Object.entries(part.data ?? {}).map(([name, value]) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{`${value}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )
    case 'question':
      return null
  }
}

/** A field for each property of the schema. */
function Question({ question, onAnswer }: { readonly question: AgentQuestion; readonly onAnswer: Answer }) {
  const fields = Object.entries((question.schema?.properties ?? {}) as Record<string, { readonly type?: string }>)
  const isNumber = (type: string | undefined) => type === 'number' || type === 'integer'
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    onAnswer(
      Object.fromEntries(
        fields.map(([name, { type }]) => [name, isNumber(type) ? Number(form.get(name)) : `${form.get(name)}`]),
      ),
    )
  }
  return (
    <form onSubmit={submit}>
      {fields.map(([name, { type }]) => (
        <label key={name}>
          {name}
          <input name={name} required type={question.isSensitive ? 'password' : isNumber(type) ? 'number' : 'text'} />
        </label>
      ))}
      <button type="submit">Answer</button>
    </form>
  )
}

createRoot(document.querySelector('#root') as Element).render(<Chat />)
