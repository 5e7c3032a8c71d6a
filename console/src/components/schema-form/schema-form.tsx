import type { Json, JsonObject } from 'parley-a2a/client'
import type { ComponentChildren } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { ActionButton } from '../action-button.tsx'
import { hideTexts, readSchema } from './schema.ts'
import { SchemaField } from './schema-field.tsx'
import { findProblems, initialDraft, toValue } from './values.ts'
import './schema-form.css'

interface SchemaFormProps {
  readonly schema: JsonObject
  readonly onSubmit: (value: Json) => void
  readonly submitLabel: string
  readonly isBusy?: boolean
  /** Whether the value is a secret: it is not shown, and cleared when it is sent. */
  readonly isSensitive?: boolean
  /** Further buttons. */
  readonly children?: ComponentChildren
}

/** A form for a value of a JSON Schema. A schema with few choices and nothing else becomes a row of buttons. */
export function SchemaForm({ schema, onSubmit, submitLabel, isBusy, isSensitive, children }: SchemaFormProps) {
  const form = useRef<HTMLFormElement>(null)
  const root = useMemo(() => {
    const fields = readSchema(schema)
    return isSensitive ? hideTexts(fields) : fields
  }, [schema, isSensitive])
  const [draft, setDraft] = useState(() => initialDraft(root))
  const [wasSubmitted, setSubmitted] = useState(false)
  const problems = useMemo(() => findProblems(root, draft), [root, draft])
  if (root.kind === 'choice' && root.choices.length <= 6) {
    return (
      <div class="choice-buttons">
        {root.choices.map(({ label, value }) => (
          <ActionButton key={label} onClick={() => onSubmit(value)} isBusy={isBusy ?? false}>
            <bdi class="breakable">{label}</bdi>
          </ActionButton>
        ))}
        {children}
      </div>
    )
  }

  function submit(event: Event) {
    event.preventDefault()
    setSubmitted(true)
    const value = problems.size === 0 ? toValue(root, draft) : undefined
    if (value !== undefined) {
      if (isSensitive) setDraft(initialDraft(root))
      setSubmitted(false)
      return onSubmit(value)
    }
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
  }

  return (
    <form ref={form} class="schema-form" noValidate onSubmit={submit}>
      <SchemaField
        schema={root}
        name="Value"
        isRequired
        path=""
        problems={wasSubmitted ? problems : noProblems}
        draft={draft}
        onChange={setDraft}
      />
      <div class="form-actions">
        <ActionButton type="submit" kind="primary" isBusy={isBusy ?? false}>
          {submitLabel}
        </ActionButton>
        {children}
      </div>
    </form>
  )
}

interface AnsweredFormProps {
  readonly schema: JsonObject
  readonly value: Json
}

/** A form with the value that was sent. It cannot be changed any more. */
export function AnsweredForm({ schema, value }: AnsweredFormProps) {
  const root = useMemo(() => readSchema(schema), [schema])
  return (
    <fieldset class="schema-form answered-form" disabled>
      <legend class="visually-hidden">What was answered</legend>
      <SchemaField
        schema={root}
        name="Value"
        isRequired
        path=""
        problems={noProblems}
        draft={value}
        onChange={() => {}}
      />
    </fieldset>
  )
}

const noProblems = new Map<string, string>()
