import { credentialsExtension, credentialsPart, type Json, type Part } from 'parley-a2a/client'
import { useId, useState } from 'preact/hooks'
import { ActionButton } from '../../components/action-button.tsx'
import { JsonBlock } from '../../components/code-block.tsx'
import { Parts } from '../../components/parts/parts.tsx'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import { jsonOrText } from '../../components/schema-form/values.ts'
import { Badge } from '../../components/state-badge.tsx'
import type { Question } from './conversation.ts'
import type { Outgoing } from './conversations.ts'

interface QuestionCardProps {
  readonly question: Question
  readonly onAnswer: (answer: Outgoing) => void
}

const titles = { input: 'Question', approval: 'Approval', tool: 'Tool call', credentials: 'Credentials' } as const

/** The media type of a part that answers a request: the client tools extension. */
const toolResult = 'application/vnd.a2a.tool-result+json'

/** What the agent needs from the person, with the fitting way to answer. */
export function QuestionCard({ question, onAnswer }: QuestionCardProps) {
  const { kind, parts, isOpen, request } = question
  return (
    <article class={`entry question ${isOpen ? '' : 'question-closed'}`} aria-label={titles[kind]}>
      <header>
        <Badge tone={isOpen ? 'warning' : 'neutral'}>{titles[kind]}</Badge>
        {!isOpen && <span class="muted small">answered</span>}
      </header>
      <Parts parts={parts} />
      {request.arguments && <JsonBlock value={request.arguments} label="Arguments" maxHeight="small" />}
      {isOpen && <Answer question={question} onAnswer={onAnswer} />}
    </article>
  )
}

function Answer({ question, onAnswer }: QuestionCardProps) {
  const { kind, request } = question
  if (kind === 'credentials') return <CredentialsForm question={question} onAnswer={onAnswer} />
  if (kind === 'approval') return <ApprovalForm question={question} onAnswer={onAnswer} />
  if (request.schema && kind === 'input') {
    return (
      <SchemaForm
        schema={request.schema}
        submitLabel="Answer"
        onSubmit={(value) => onAnswer(resultOf(question, value))}
      />
    )
  }
  return <TextAnswer question={question} onAnswer={onAnswer} />
}

/** An answer names the request that it belongs to. Secrets stay out of the transcript. */
function resultOf({ request: { requestId, sensitive } }: Question, result: Json, shown?: string): Outgoing {
  const text = shown ?? (typeof result === 'string' ? result : JSON.stringify(result))
  const part: Part =
    requestId === undefined ? { text } : { data: { toolUseId: requestId, result }, mediaType: toolResult }
  return { parts: [part], shown: [{ text: sensitive ? 'Sensitive answer sent' : text }] }
}

function ApprovalForm({ question, onAnswer }: QuestionCardProps) {
  const [comment, setComment] = useState('')
  const decide = (word: string) => onAnswer(resultOf(question, comment.trim() ? `${word}: ${comment.trim()}` : word))
  return (
    <div class="answer">
      <label class="field">
        <span class="label">Comment (optional)</span>
        <input class="input" type="text" value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
      </label>
      <div class="form-actions">
        <ActionButton kind="primary" onClick={() => decide('yes')}>
          Approve
        </ActionButton>
        <ActionButton kind="danger" onClick={() => decide('no')}>
          Decline
        </ActionButton>
      </div>
    </div>
  )
}

function TextAnswer({ question, onAnswer }: QuestionCardProps) {
  const { kind, request } = question
  const id = useId()
  const [text, setText] = useState('')
  function submit(event: Event) {
    event.preventDefault()
    if (text !== '') onAnswer(resultOf(question, kind === 'tool' ? jsonOrText(text) : text, text))
  }
  const label = kind === 'tool' ? `Result of ${request.tool}, as text or JSON` : 'Your answer'
  return (
    <form class="answer" onSubmit={submit}>
      <div class="field">
        <label class="breakable" for={id}>
          {label}
        </label>
        {request.sensitive ? (
          <input
            id={id}
            class="input"
            type="password"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        ) : (
          <textarea
            id={id}
            class="input"
            dir="auto"
            rows={2}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </div>
      <div class="form-actions">
        <ActionButton type="submit" kind="primary">
          Answer
        </ActionButton>
      </div>
    </form>
  )
}

function CredentialsForm({ question, onAnswer }: QuestionCardProps) {
  const { schemes = [], urls = [] } = question.auth ?? {}
  const [scheme, setScheme] = useState(schemes[0] ?? '')
  const [secret, setSecret] = useState('')
  function submit(event: Event) {
    event.preventDefault()
    if (secret === '') return
    onAnswer({
      parts: [credentialsPart({ ...(scheme && { scheme }), credentials: secret })],
      shown: [{ text: 'Credentials sent' }],
      options: { extensions: [credentialsExtension] },
    })
  }
  return (
    <form class="answer" onSubmit={submit}>
      {urls
        .filter((url) => /^https?:\/\//i.test(url))
        .map((url) => (
          <a key={url} class="breakable" href={url} target="_blank" rel="noopener noreferrer nofollow">
            {url}
          </a>
        ))}
      {schemes.length > 1 && (
        <label class="field">
          <span class="label">Scheme</span>
          <select class="input" value={scheme} onChange={(event) => setScheme(event.currentTarget.value)}>
            {schemes.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        <span class="label">{scheme ? `Credentials (${scheme})` : 'Credentials'}</span>
        <input
          class="input"
          type="password"
          autocomplete="off"
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
      </label>
      <p class="muted small">They are sent to the agent and stored neither here nor on the server.</p>
      <div class="form-actions">
        <ActionButton type="submit" kind="primary">
          Send credentials
        </ActionButton>
      </div>
    </form>
  )
}
