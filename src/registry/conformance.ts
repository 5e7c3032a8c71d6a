import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { isRefused } from '../http/address-guard.ts'
import { A2AError } from '../protocol/errors.ts'

const maxLength = 300

/** What a card lacks of what its version asks for, in words; undefined if nothing. */
export function faultOf(card: JsonObject): string | undefined {
  const isNew = Array.isArray(card.supportedInterfaces)
  const lacking = [
    ...texts(card, ['name', 'description', 'version'], ''),
    ...(isNew ? [] : texts(card, ['url'], '')),
    ...['capabilities'].filter((name) => !isObject(card[name])),
    ...['defaultInputModes', 'defaultOutputModes', 'skills'].filter((name) => !Array.isArray(card[name])),
    ...list(card.skills).flatMap((skill, at) => faultsOfSkill(skill, `skills[${at}]`)),
    ...(isNew ? list(card.supportedInterfaces).flatMap(faultsOfInterface) : []),
  ]
  if (lacking.length === 0) return undefined
  const more = lacking.length > 5 ? ` and ${lacking.length - 5} more` : ''
  return `The card lacks, or has in another form: ${lacking.slice(0, 5).join(', ')}${more}.`
}

/** What went wrong, as anybody may read it: where names lead in our network is nobody's business. */
export function sayProblem(error: unknown): string {
  if (isGuarded(error)) return 'It is at, or leads to, an address that this registry does not ask.'
  const text = error instanceof Error ? error.message : String(error)
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

/** A guard kept us from asking. */
export function isGuarded(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (isRefused(cause) || (cause instanceof A2AError && cause.reason === 'guarded')) return true
  }
  return false
}

function texts(holder: JsonObject, names: readonly string[], prefix: string): readonly string[] {
  return names.filter((name) => typeof holder[name] !== 'string').map((name) => `${prefix}${name}`)
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function faultsOfSkill(skill: Json, at: string): readonly string[] {
  if (!isObject(skill)) return [at]
  const lacking = texts(skill, ['id', 'name', 'description'], `${at}.`)
  return Array.isArray(skill.tags) ? lacking : [...lacking, `${at}.tags`]
}

function faultsOfInterface(each: Json, index: number): readonly string[] {
  const at = `supportedInterfaces[${index}]`
  return isObject(each) ? texts(each, ['url', 'protocolBinding', 'protocolVersion'], `${at}.`) : [at]
}
