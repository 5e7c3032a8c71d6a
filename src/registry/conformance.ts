import { isObject, type Json, type JsonObject } from '../core/base/json.ts'
import { isRequestRefused } from '../core/http/address-guard.ts'
import { A2AError } from '../core/protocol/errors.ts'

const maxMessageLength = 300

/** Names the required members that a card lacks or has with the wrong type; undefined if the card is complete. */
export function cardViolation(card: JsonObject): string | undefined {
  const hasInterfaces = Array.isArray(card.supportedInterfaces) // since A2A 1.0
  const members = [
    ...nonStrings(card, ['name', 'description', 'version'], ''),
    ...(hasInterfaces ? [] : nonStrings(card, ['url'], '')),
    ...['capabilities'].filter((name) => !isObject(card[name])),
    ...['defaultInputModes', 'defaultOutputModes', 'skills'].filter((name) => !Array.isArray(card[name])),
    ...list(card.skills).flatMap((skill, index) => skillViolations(skill, `skills[${index}]`)),
    ...(hasInterfaces ? list(card.supportedInterfaces).flatMap(interfaceViolations) : []),
  ]
  if (members.length === 0) return undefined
  const more = members.length > 5 ? ` and ${members.length - 5} more` : ''
  return `The card lacks these members or has them with the wrong type: ${members.slice(0, 5).join(', ')}${more}.`
}

/** An error text that every caller may read: it does not reveal which names resolve to private addresses. */
export function publicMessage(error: unknown): string {
  if (isGuarded(error)) return 'It is at, or redirects to, an address that this registry does not call.'
  const text = error instanceof Error ? error.message : String(error)
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text
}

/** Whether the guarded fetch refused the address. */
export function isGuarded(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (isRequestRefused(cause) || (cause instanceof A2AError && cause.reason === 'guarded')) return true
  }
  return false
}

function nonStrings(holder: JsonObject, names: readonly string[], prefix: string): readonly string[] {
  return names.filter((name) => typeof holder[name] !== 'string').map((name) => `${prefix}${name}`)
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function skillViolations(skill: Json, path: string): readonly string[] {
  if (!isObject(skill)) return [path]
  const members = nonStrings(skill, ['id', 'name', 'description'], `${path}.`)
  return Array.isArray(skill.tags) ? members : [...members, `${path}.tags`]
}

function interfaceViolations(value: Json, index: number): readonly string[] {
  const path = `supportedInterfaces[${index}]`
  return isObject(value) ? nonStrings(value, ['url', 'protocolBinding', 'protocolVersion'], `${path}.`) : [path]
}
