import type { Json } from '../../protocol/model.ts'

/**
 * A value as `json.dumps` of Python writes it after protobuf has read it, which is what the official SDK for Python
 * signs: like RFC 8785, but in ASCII, with members by code point, and with all numbers as those with a fraction.
 */
export function pythonJson(value: Json): string {
  switch (typeof value) {
    case 'string':
      return ascii(JSON.stringify(value))
    case 'number':
      return floatOf(value)
    case 'boolean':
      return `${value}`
  }
  if (value === null) return 'null'
  if (isList(value)) return `[${value.map(pythonJson).join(',')}]`
  const members = Object.entries(value).toSorted(([one], [other]) => byCodePoint(one, other))
  return `{${members.map(([name, each]) => `${pythonJson(name)}:${pythonJson(each)}`).join(',')}}`
}

function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Both languages write the fewest digits that tell a number, but go over to exponents at other sizes. */
function floatOf(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e16 || (size < 1e-4 && size > 0)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  }
  const text = Object.is(value, -0) ? '-0' : `${value}`
  return Number.isInteger(value) ? `${text}.0` : text
}

function byCodePoint(one: string, other: string): number {
  const left = Array.from(one, (each) => each.codePointAt(0) ?? 0)
  const right = Array.from(other, (each) => each.codePointAt(0) ?? 0)
  const at = left.findIndex((point, n) => point !== right[n])
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1)
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
