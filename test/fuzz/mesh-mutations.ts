import type { Random } from '../support/random.ts'

type Path = readonly (string | number)[]

const awkwardValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e21,
  '',
  'x',
  ' ',
  [],
  {},
  [[]],
  { a: 1 },
  'registry',
  '\u0000',
  '3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59',
  '2026-01-31T12:00:00Z',
  'https://example.com',
  '1.0.0',
  'A2',
  1,
  100,
  101,
]
const awkwardCharacters = [
  '\n',
  '\u0000',
  '\ud800',
  '\udc00',
  '\u202e',
  '\u0301',
  'ａ',
  '٣',
  '\ufeff',
  '😀',
  'İ',
  'ß',
  '\u2028',
]
const awkwardNumbers = [
  '1e400',
  '-1e400',
  '1e-400',
  '1'.repeat(400),
  '9007199254740993',
  '-0',
  '1.0',
  '1E2',
  '0x10',
  'NaN',
  '01',
]
const awkwardNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'message_id ', 'Payload', 'payload']

/** Applies one or two random changes. The result may not be JSON. */
export function mutate(text: string, random: Random): string {
  const changes = 1 + random.below(2)
  let changed = text
  for (let count = 0; count < changes; count++) changed = random.pick(mutations)(changed, random)
  return changed
}

/** Sometimes flips one bit. The result may not be UTF-8. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0 || !random.chance(0.15)) return bytes
  const index = random.below(bytes.length)
  bytes[index] = (bytes[index] ?? 0) ^ (1 << random.below(8))
  return bytes
}

const mutations: readonly ((text: string, random: Random) => string)[] = [
  swapType,
  swapType,
  addMember,
  removeMember,
  insertCharacter,
  insertCharacter,
  nest,
  repeatName,
  hugeNumber,
  removeCharacters,
  insertSpace,
]

function swapType(text: string, random: Random): string {
  return edit(text, random, () => random.pick(awkwardValues))
}

function addMember(text: string, random: Random): string {
  return edit(text, random, (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const name = random.chance(0.5) ? random.pick(awkwardNames) : `x${random.below(100)}`
    return Object.defineProperty({ ...value }, name, { value: random.pick(awkwardValues), enumerable: true })
  })
}

function removeMember(text: string, random: Random): string {
  return edit(text, random, () => undefined)
}

function insertCharacter(text: string, random: Random): string {
  return edit(text, random, (value) => {
    if (typeof value !== 'string') return value
    const index = random.below(value.length + 1)
    return value.slice(0, index) + random.pick(awkwardCharacters) + value.slice(random.chance(0.5) ? index : index + 1)
  })
}

function nest(text: string, random: Random): string {
  const depth = random.below(90)
  const [open, close] = random.chance(0.5) ? ['[', ']'] : ['{"a":', '}']
  return replaceMark(
    edit(text, random, () => mark),
    `${open.repeat(depth)}1${close.repeat(depth)}`,
  )
}

function hugeNumber(text: string, random: Random): string {
  return replaceMark(
    edit(text, random, () => mark),
    random.pick(awkwardNumbers),
  )
}

function repeatName(text: string, random: Random): string {
  const name = random.pick(['message_id', 'message_type', 'payload', 'method', 'sender_id', '\\u0070ayload'])
  const value = random.pick(['"x"', 'null', '{}', '"request"'])
  const starts = [...text.matchAll(/\{/g)].map(({ index }) => index)
  if (starts.length === 0) return text
  const index = random.pick(starts)
  const rest = text.slice(index + 1)
  return `${text.slice(0, index + 1)}"${name}":${value}${rest.startsWith('}') ? '' : ','}${rest}`
}

function removeCharacters(text: string, random: Random): string {
  const index = random.below(text.length)
  return text.slice(0, index) + text.slice(index + 1 + random.below(4))
}

function insertSpace(text: string, random: Random): string {
  const index = random.below(text.length)
  return text.slice(0, index) + random.pick([' ', '\n', '\t', '\u00a0', '\ufeff', ',']) + text.slice(index)
}

const mark = '@@mark@@'

function replaceMark(text: string, written: string): string {
  return text.replace(JSON.stringify(mark), written)
}

/** Changes the value at a random path of the message, if the text is JSON. */
function edit(text: string, random: Random, change: (value: unknown) => unknown): string {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return text
  }
  const path = random.pick(pathsIn(message))
  return JSON.stringify(changeAt(message, path, change)) ?? ''
}

function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null || path.length > 8) return [path]
  return [path, ...Object.entries(value).flatMap(([key, member]) => pathsIn(member, [...path, key]))]
}

function changeAt(value: unknown, [step, ...rest]: Path, change: (value: unknown) => unknown): unknown {
  if (step === undefined) return change(value)
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === step ? changeAt(item, rest, change) : item))
  const members = Object.entries(value as object)
  return Object.fromEntries(
    members.map(([key, member]) => [key, key === step ? changeAt(member, rest, change) : member]),
  )
}
