import { excerpt, Violation, wrongType } from '../dialects/violation.ts'
import { type Form, isObject, type ValueOf, within } from './form.ts'

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

/** These members and no others; with `open`, others too. */
export function object<M extends Members>(members: M, { open = false } = {}): Form<ObjectOf<M>> {
  const all = Object.entries(members).map(([name, member]) => ({
    name,
    form: 'optional' in member ? member.optional : member,
    isRequired: !('optional' in member),
  }))
  const names: ReadonlySet<string> = new Set(Object.keys(members))
  const required = all.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    fault(value) {
      if (!isObject(value)) return wrongType('an object', value)
      let known = 0
      for (const { name, form, isRequired } of all) {
        const member = Object.hasOwn(value, name) ? value[name] : undefined
        if (member === undefined) {
          if (isRequired) return within(new Violation('is required'), name)
          continue
        }
        known++
        const fault = form.fault(member)
        if (fault) return within(fault, name)
      }
      return open ? undefined : strangerIn(value, names, known)
    },
    schema: {
      type: 'object',
      properties: Object.fromEntries(all.map(({ name, form }) => [name, form.schema])),
      ...(required.length > 0 && { required }),
      ...(!open && { additionalProperties: false }),
    },
  }
}

function strangerIn(
  value: Readonly<Record<string, unknown>>,
  names: ReadonlySet<string>,
  known: number,
): Violation | undefined {
  const keys = Object.keys(value)
  if (keys.length === known) return undefined
  const stranger = keys.find((key) => !names.has(key))
  if (stranger === undefined) return undefined
  return new Violation(`has an unknown member ${excerpt(stranger)}: it may have only ${[...names].join(', ')}`)
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
