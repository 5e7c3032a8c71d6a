import type { Json } from 'parley-a2a/client'
import { useId } from 'preact/hooks'
import { Icon } from '../icon.tsx'
import { type FieldSchema, maxButtons } from './schema.ts'
import { type Draft, initialDraft, isDraftObject, JsonText, type Problems } from './values.ts'

export interface FieldProps {
  readonly schema: FieldSchema
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  readonly path: string
  /** The name of the field, if its schema has no title. */
  readonly name: string
  readonly isRequired: boolean
  readonly problems: Problems
}

/** An input for a value of a schema, with its label, description and problem. */
export function SchemaField(props: FieldProps) {
  const { schema } = props
  if (schema.kind === 'object') return <ObjectFields {...props} fields={schema.fields} />
  if (schema.kind === 'array') return <ArrayField {...props} schema={schema} />
  if (schema.kind === 'choice' && schema.choices.length <= maxButtons) return <ChoiceField {...props} />
  return <PlainField {...props} />
}

function labelOf({ schema, name }: FieldProps): string {
  return schema.title ?? name
}

function Help({
  id,
  schema,
  problem,
}: {
  readonly id: string
  readonly schema: FieldSchema
  readonly problem?: string
}) {
  return (
    <div id={id} class="field-help">
      {schema.description && <span class="muted small breakable">{schema.description}</span>}
      {problem && <span class="field-problem small">{problem}</span>}
    </div>
  )
}

function Required({ isRequired }: { readonly isRequired: boolean }) {
  return isRequired ? null : <span class="muted"> (optional)</span>
}

function PlainField(props: FieldProps) {
  const { schema, draft, onChange, isRequired } = props
  const id = useId()
  const problem = props.problems.get(props.path)
  const shared = {
    id,
    'aria-invalid': problem !== undefined,
    'aria-describedby': `${id}-help`,
    'aria-required': isRequired,
  }
  if (schema.kind === 'boolean') {
    return (
      <div class="field">
        <label class="choice" for={id}>
          <input
            {...shared}
            type="checkbox"
            checked={draft === true}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
          <bdi>{labelOf(props)}</bdi>
        </label>
        <Help id={`${id}-help`} schema={schema} {...(problem && { problem })} />
      </div>
    )
  }
  return (
    <div class="field">
      <label for={id}>
        <bdi class="breakable">{labelOf(props)}</bdi>
        <Required isRequired={isRequired} />
      </label>
      <Input {...props} shared={shared} />
      <Help id={`${id}-help`} schema={schema} {...(problem && { problem })} />
    </div>
  )
}

interface SharedProps {
  readonly id: string
  readonly 'aria-invalid': boolean
  readonly 'aria-describedby': string
  readonly 'aria-required': boolean
}

function Input({ schema, draft, onChange, shared }: FieldProps & { readonly shared: SharedProps }) {
  const text = typeof draft === 'string' || typeof draft === 'number' ? `${draft}` : ''
  switch (schema.kind) {
    case 'choice': {
      const selected = schema.choices.findIndex(({ value }) => isSame(value, draft))
      return (
        <select
          {...shared}
          class="input"
          value={selected}
          onChange={({ currentTarget: { value } }) => onChange(schema.choices[Number(value)]?.value)}
        >
          <option value={-1}>Choose…</option>
          {schema.choices.map(({ label }, index) => (
            <option key={label} value={index}>
              {label}
            </option>
          ))}
        </select>
      )
    }
    case 'number':
      return (
        <input
          {...shared}
          class="input"
          type="number"
          value={text}
          step={schema.isInteger ? 1 : 'any'}
          min={schema.min}
          max={schema.max}
          onInput={({ currentTarget: { value } }) => onChange(value === '' ? undefined : Number(value))}
        />
      )
    case 'text': {
      const onInput = ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
        onChange(value === '' ? undefined : value)
      if (schema.input === 'multiline')
        return <textarea {...shared} class="input" rows={4} value={text} onInput={onInput} />
      return (
        <input
          {...shared}
          class="input"
          dir="auto"
          type={schema.input as 'text'}
          autocomplete="off"
          value={text}
          onInput={onInput}
        />
      )
    }
    default:
      return (
        <textarea
          {...shared}
          class="input mono"
          rows={4}
          spellcheck={false}
          placeholder="JSON"
          value={draft instanceof JsonText ? draft.text : draft === undefined ? '' : JSON.stringify(draft, null, 2)}
          onInput={({ currentTarget: { value } }) => onChange(value.trim() === '' ? undefined : new JsonText(value))}
        />
      )
  }
}

function isSame(value: Json, draft: Draft): boolean {
  return JSON.stringify(value) === JSON.stringify(draft)
}

/** Few choices, as radio buttons. */
function ChoiceField(props: FieldProps) {
  const { schema, draft, onChange, isRequired } = props
  const id = useId()
  const problem = props.problems.get(props.path)
  if (schema.kind !== 'choice') return null
  return (
    <fieldset class="field field-choices" aria-describedby={`${id}-help`}>
      <legend class="label">
        <bdi class="breakable">{labelOf(props)}</bdi>
        <Required isRequired={isRequired} />
      </legend>
      <div class="choices">
        {schema.choices.map(({ label, value }) => (
          <label key={label} class="choice">
            <input type="radio" name={id} checked={isSame(value, draft)} onChange={() => onChange(value)} />
            <bdi class="breakable">{label}</bdi>
          </label>
        ))}
      </div>
      <Help id={`${id}-help`} schema={schema} {...(problem && { problem })} />
    </fieldset>
  )
}

function ObjectFields(props: FieldProps & { readonly fields: readonly ObjectFieldEntry[] }) {
  const { schema, draft, onChange, path, fields, problems, name } = props
  const values = isDraftObject(draft) ? draft : {}
  const inputs = fields.map((field) => (
    <SchemaField
      key={field.name}
      schema={field.schema}
      name={field.name}
      isRequired={field.isRequired}
      path={`${path}.${field.name}`}
      problems={problems}
      draft={values[field.name]}
      onChange={(value) => onChange({ ...values, [field.name]: value })}
    />
  ))
  if (path === '') return <>{inputs}</>
  return (
    <fieldset class="field-group">
      <legend class="label">
        <bdi class="breakable">{schema.title ?? name}</bdi>
      </legend>
      {schema.description && <p class="muted small breakable">{schema.description}</p>}
      {inputs}
    </fieldset>
  )
}

type ObjectFieldEntry = Extract<FieldSchema, { kind: 'object' }>['fields'][number]

function ArrayField(props: FieldProps & { readonly schema: Extract<FieldSchema, { kind: 'array' }> }) {
  const { schema, draft, onChange, path, problems, name } = props
  const items: readonly Draft[] = Array.isArray(draft) ? draft : []
  const problem = problems.get(path)
  return (
    <fieldset class="field-group">
      <legend class="label">
        <bdi class="breakable">{labelOf(props)}</bdi>
        <Required isRequired={props.isRequired} />
      </legend>
      {schema.description && <p class="muted small breakable">{schema.description}</p>}
      {items.map((item, index) => (
        <div class="field-item" key={index}>
          <SchemaField
            schema={schema.item}
            name={`${name} ${index + 1}`}
            isRequired
            path={`${path}[${index}]`}
            problems={problems}
            draft={item}
            onChange={(value) => onChange(items.with(index, value))}
          />
          <button
            type="button"
            class="button button-plain button-icon"
            aria-label={`Remove ${name} ${index + 1}`}
            onClick={() => onChange(items.toSpliced(index, 1))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      {problem && <span class="field-problem small">{problem}</span>}
      {items.length < schema.max && (
        <button
          type="button"
          class="button button-small"
          onClick={() => onChange([...items, initialDraft(schema.item)])}
        >
          <Icon name="plus" /> Add
        </button>
      )}
    </fieldset>
  )
}
