import type { OperatorAnswer, Waiting } from 'parley-a2a/operator'
import { useId, useState } from 'preact/hooks'
import { ActionButton } from '../../components/action-button.tsx'
import { SchemaForm } from '../../components/schema-form/schema-form.tsx'
import { jsonOrText } from '../../components/schema-form/values.ts'
import { Notice } from '../../components/states.tsx'

interface AnswerFormProps {
  readonly waiting: Waiting
  readonly onAnswer: (answer: OperatorAnswer) => void
  readonly isBusy: boolean
}

/** The fitting way to answer what a task waits for. */
export function AnswerForm({ waiting, onAnswer, isBusy }: AnswerFormProps) {
  const { kind, schema } = waiting
  if (kind === 'credentials') {
    return <Notice kind="info">Only the caller of the task can send credentials. Open the task to cancel it.</Notice>
  }
  if (kind === 'approval') return <Approval onAnswer={onAnswer} isBusy={isBusy} />
  if (kind === 'input' && schema) {
    return <SchemaForm schema={schema} submitLabel="Answer" isBusy={isBusy} onSubmit={(value) => onAnswer({ value })} />
  }
  return <FreeAnswer isJson={kind === 'tool'} onAnswer={onAnswer} isBusy={isBusy} />
}

function Approval({ onAnswer, isBusy }: Omit<AnswerFormProps, 'waiting'>) {
  const id = useId()
  const [comment, setComment] = useState('')
  const decide = (decision: 'approve' | 'decline') =>
    onAnswer({ decision, ...(comment.trim() !== '' && { comment: comment.trim() }) })
  return (
    <div class="inbox-answer">
      <div class="field">
        <label for={id}>Comment (optional)</label>
        <input
          id={id}
          class="input"
          type="text"
          value={comment}
          onInput={(event) => setComment(event.currentTarget.value)}
        />
      </div>
      <div class="form-actions">
        <ActionButton kind="primary" isBusy={isBusy} onClick={() => decide('approve')}>
          Approve
        </ActionButton>
        <ActionButton kind="danger" isBusy={isBusy} onClick={() => decide('decline')}>
          Decline
        </ActionButton>
      </div>
    </div>
  )
}

function FreeAnswer({ isJson, onAnswer, isBusy }: Omit<AnswerFormProps, 'waiting'> & { readonly isJson: boolean }) {
  const id = useId()
  const [text, setText] = useState('')
  function submit(event: Event) {
    event.preventDefault()
    if (text.trim() !== '') onAnswer(isJson ? { value: jsonOrText(text) } : { parts: [{ text }] })
  }
  return (
    <form class="inbox-answer" onSubmit={submit}>
      <div class="field">
        <label for={id}>{isJson ? 'Result, as text or JSON' : 'Answer'}</label>
        <textarea
          id={id}
          class="input"
          dir="auto"
          rows={2}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <div class="form-actions">
        <ActionButton type="submit" kind="primary" isBusy={isBusy}>
          Answer
        </ActionButton>
      </div>
    </form>
  )
}
