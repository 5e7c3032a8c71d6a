import { useId, useState } from 'preact/hooks'
import { ActionButton } from '../action-button.tsx'
import { SchemaForm } from '../schema-form/schema-form.tsx'
import { SecretInput } from '../secret-input.tsx'
import type { AnswerFormProps } from './answer.ts'
import { CredentialsForm } from './credentials-form.tsx'
import { ToolResultForm } from './tool-result-form.tsx'
import './answers.css'

/** The fitting way to answer what a task waits for. */
export function AnswerForm(props: AnswerFormProps) {
  const { question, onAnswer, isBusy = false } = props
  const { kind, schema, isSensitive = false } = question
  switch (kind) {
    case 'credentials':
      return <CredentialsForm {...props} />
    case 'approval':
      return <ApprovalForm {...props} />
    case 'tool':
      return <ToolResultForm {...props} />
    case 'input':
      if (!schema) return <TextAnswer {...props} />
      return (
        <SchemaForm
          schema={schema}
          submitLabel="Answer"
          isBusy={isBusy}
          isSensitive={isSensitive}
          onSubmit={(value) => onAnswer({ type: 'value', value })}
        />
      )
  }
}

function ApprovalForm({ onAnswer, isBusy = false }: AnswerFormProps) {
  const id = useId()
  const [comment, setComment] = useState('')
  const decide = (decision: 'approve' | 'decline') => onAnswer({ type: 'decision', decision, comment: comment.trim() })
  return (
    <div class="answer">
      <div class="field">
        <label for={id}>
          Comment <span class="muted">(optional)</span>
        </label>
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

function TextAnswer({ question, onAnswer, isBusy = false }: AnswerFormProps) {
  const id = useId()
  const [text, setText] = useState('')
  function submit(event: Event) {
    event.preventDefault()
    if (text.trim() === '' || isBusy) return
    onAnswer({ type: 'text', text })
    if (question.isSensitive) setText('')
  }
  return (
    <form class="answer" onSubmit={submit}>
      <div class="field">
        <label for={id}>Your answer</label>
        {question.isSensitive ? (
          <SecretInput id={id} value={text} onInput={setText} />
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
        <ActionButton type="submit" kind="primary" isBusy={isBusy}>
          Answer
        </ActionButton>
      </div>
    </form>
  )
}
