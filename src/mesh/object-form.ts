import { excerpt } from '../dialects/excerpt.ts'
import { Violation, wrongType } from '../dialects/violation.ts'
import { type Form, isObject, type ValueOf, within } from './form.ts'
import { unreadableIn } from './i-json.ts'

/** A member that need not be there. */
export interface OptionalMember<T> {
  readonly optional: Form<T>
}

export function optional<T>(form: Form<T>): OptionalMember<T> {
  return { optional: form }
}

export type Members = Readonly<Record<string, Form<unknown> | OptionalMember<unknown>>>

type RequiredNames<M> = { [K in keyof M]: M[K] extends OptionalMember<unknown> ? never : K }[keyof M]
type ObjectOf<M> = { readonly [K in RequiredNames<M>]: ValueOf<M[K]> } & {
  readonly [K in Exclude<keyof M, RequiredNames<M>>]?: M[K] extends OptionalMember<infer T> ? T : never
}

interface Member {
  readonly form: Form<unknown>
  readonly isRequired: boolean
}

/** These members and no others; with `open`, others too. */
export function object<M extends Members>(members: M, { open = false } = {}): Form<ObjectOf<M>> {
  const all: ReadonlyMap<string, Member> = new Map(
    Object.entries(members).map(([name, member]) => [
      name,
      'optional' in member ? { form: member.optional, isRequired: false } : { form: member, isRequired: true },
    ]),
  )
  const required = [...all].filter(([, { isRequired }]) => isRequired).map(([name]) => name)

  /** One pass over what is there: this is the hot path of every message. */
  function fault(value: unknown): Violation | undefined {
    if (!isObject(value)) return wrongType('an object', value)
    let found = 0
    for (const name in value) {
      const member = all.get(name)
      const given = value[name]
      if (member === undefined) {
        if (!open) return strange(name)
        const unreadable = unreadableIn(name) ?? unreadableIn(given)
        if (unreadable !== undefined) return new Violation(unreadable)
      } else if (given !== undefined) {
        const wrong = member.form.fault(given)
        if (wrong !== undefined) return within(wrong, name)
        if (member.isRequired) found++
      }
    }
    if (found === required.length) return undefined
    const missing = required.find((name) => !Object.hasOwn(value, name) || value[name] === undefined)
    return within(new Violation('is required'), missing ?? '')
  }

  function strange(name: string): Violation {
    return new Violation(`has an unknown member ${excerpt(name)}: it may have only ${[...all.keys()].join(', ')}`)
  }

  return {
    fault,
    schema: {
      type: 'object',
      properties: Object.fromEntries([...all].map(([name, { form }]) => [name, form.schema])),
      ...(required.length > 0 && { required }),
      ...(!open && { additionalProperties: false }),
    },
  }
}

/** One of several objects, told apart by the value of one member: the names of the options are its values as texts. */
export function choice<O extends Readonly<Record<string, Form<unknown>>>>(
  tag: string,
  options: O,
): Form<ValueOf<O[keyof O]>> {
  const forms: ReadonlyMap<string, Form<unknown>> = new Map(Object.entries(options))
  const words = [...forms.keys()].join(' or ')
  return {
    fault(value) {
      if (!isObject(value)) return wrongType('an object', value)
      const option = Object.hasOwn(value, tag) ? forms.get(String(value[tag])) : undefined
      // The option looks at the tag again, and at its type.
      return option ? option.fault(value) : within(new Violation(`expected ${words}`), tag)
    },
    schema: { type: 'object', oneOf: [...forms.values()].map(({ schema }) => schema) },
  }
}
