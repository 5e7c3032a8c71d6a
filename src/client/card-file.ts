import { isObject } from '../dialects/is-object.ts'
import { decodeUtf8, JsonError, parseJsonText } from '../http/json-text.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { isCard } from './is-card.ts'
import type { Journal } from './journal.ts'
import { readFile } from './read-file.ts'
import { type VerifyCard, verified } from './verified.ts'

const maxCard = 2 ** 20

/** The card in a file of this machine. */
export async function readCardFile(
  path: string | URL,
  { journal, verify }: { readonly journal: Journal; readonly verify?: VerifyCard },
): Promise<JsonObject> {
  const url = `${path}`
  const wire = parse(await readFile(path, maxCard), url)
  if (!isObject(wire) || !isCard(wire)) throw notACard(url, 'has JSON that is no agent card')
  const believed = await verified(wire, url, verify)
  journal.note({ type: 'card', url, outcome: 'found', detail: '' })
  return believed
}

function parse(bytes: Uint8Array, url: string): unknown {
  try {
    return parseJsonText(decodeUtf8(bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw notACard(url, `is no JSON: ${error.message}`)
  }
}

function notACard(url: string, problem: string): A2AError {
  return new A2AError('invalid-params', `${url} ${problem}.`, { reason: 'not-a-card', url })
}
