import type { Json } from 'parley-a2a/client'
import { useId, useState } from 'preact/hooks'
import { ActionButton } from '../action-button.tsx'
import { JsonBlock, makeVisible } from '../code-block.tsx'
import { isObject } from '../schema-form/schema.ts'
import { SchemaForm } from '../schema-form/schema-form.tsx'
import { SecretInput } from '../secret-input.tsx'
import { messageOf } from '../states.tsx'
import type { AnswerFormProps } from './answer.ts'

type Mode = 'form' | 'text' | 'json' | 'failure'

const labels: Readonly<Record<Mode, string>> = { form: 'Result', text: 'Text', json: 'JSON', failure: 'It failed' }

/** The result of a tool that the caller runs: by the schema of the result, as text, as JSON, or why the tool failed. */
export function ToolResultForm(props: AnswerFormProps) {
  const { question, onAnswer, isBusy = false } = props
  const name = useId()
  const { schema } = question
  const modes: readonly Mode[] = schema ? ['form', 'failure'] : ['text', 'json', 'failure']
  const [mode, setMode] = useState<Mode>(modes[0] ?? 'text')
  return (
    <div class="answer">
      <fieldset class="answer-modes">
        <legend class="label">Result</legend>
        {modes.map((each) => (
          <label key={each} class="choice">
            <input type="radio" name={name} checked={each === mode} onChange={() => setMode(each)} />
            {labels[each]}
          </label>
        ))}
      </fieldset>
      {mode === 'form' && schema ? (
        <SchemaForm
          schema={schema}
          submitLabel="Send result"
          isBusy={isBusy}
          isSensitive={question.isSensitive ?? false}
          onSubmit={(result) => onAnswer({ type: 'tool-result', result })}
        />
      ) : (
        <FreeResult key={mode} mode={mode} {...props} />
      )}
    </div>
  )
}

const fields = { form: 'Result', text: 'Result as text', json: 'Result as JSON', failure: 'What went wrong' } as const

function FreeResult({ mode, question, onAnswer, isBusy = false }: AnswerFormProps & { readonly mode: Mode }) {
  const id = useId()
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const isSecret = question.isSensitive === true && mode === 'text'

  function submit(event: Event) {
    event.preventDefault()
    if (isBusy) return
    if (text.trim() === '') return setProblem('This field is required.')
    setProblem(undefined)
    if (mode === 'failure') return onAnswer({ type: 'tool-failure', message: text.trim() })
    try {
      onAnswer({ type: 'tool-result', result: mode === 'json' ? (JSON.parse(text) as Json) : text })
      if (isSecret) setText('')
    } catch (error) {
      setProblem(`This is not valid JSON: ${messageOf(error)}`)
    }
  }

  return (
    <form class="answer" onSubmit={submit} noValidate>
      <div class="field">
        <label for={id}>{fields[mode]}</label>
        {isSecret ? (
          <SecretInput id={id} value={text} onInput={setText} describedBy={`${id}-help`} />
        ) : (
          <textarea
            id={id}
            class={`input ${mode === 'json' ? 'mono' : ''}`}
            dir="auto"
            rows={mode === 'json' ? 5 : 2}
            spellcheck={mode !== 'json'}
            aria-invalid={problem !== undefined}
            aria-describedby={`${id}-help`}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        <div id={`${id}-help`} class="field-help">
          {problem && <span class="field-problem small">{problem}</span>}
        </div>
      </div>
      <div class="form-actions">
        <ActionButton type="submit" kind={mode === 'failure' ? 'danger' : 'primary'} isBusy={isBusy}>
          {mode === 'failure' ? 'Report the failure' : 'Send result'}
        </ActionButton>
      </div>
    </form>
  )
}

/** More arguments than these are shown as JSON. */
const maxRows = 12

interface ToolCallProps {
  readonly name: string
  readonly arguments: Json | undefined
}

/** The call of a tool: its name, and its arguments as a list if they are simple. */
export function ToolCall({ name, arguments: input }: ToolCallProps) {
  return (
    <div class="tool-call">
      <p class="small">
        Tool <code class="breakable">{makeVisible(name)}</code>
        {isObject(input) && Object.keys(input).length === 0 && <span class="muted">, without arguments</span>}
      </p>
      <ArgumentList arguments={input} />
    </div>
  )
}

/** Arguments as a table if they are simple, and as JSON otherwise. */
export function ArgumentList({ arguments: input }: Pick<ToolCallProps, 'arguments'>) {
  const members = isObject(input) ? Object.entries(input) : undefined
  const isSimple = members && members.length <= maxRows && members.every(([, value]) => isScalar(value))
  return (
    <>
      {isSimple && members.length > 0 && (
        <dl class="tool-arguments">
          {members.map(([member, value]) => (
            <div key={member}>
              <dt class="breakable">
                <bdi>{makeVisible(member)}</bdi>
              </dt>
              <dd class="breakable">
                <bdi>{typeof value === 'string' ? makeVisible(value) : JSON.stringify(value)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {!isSimple && input !== undefined && <JsonBlock value={input} label="Arguments" maxHeight="small" />}
    </>
  )
}

function isScalar(value: Json | undefined): boolean {
  return typeof value === 'string' ? value.length <= 200 : typeof value !== 'object' || value === null
}
