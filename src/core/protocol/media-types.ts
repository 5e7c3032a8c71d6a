/** What an agent accepts and produces if its author declares nothing. */
export const defaultModes: readonly string[] = ['text/plain', 'application/json']

/** Names for kinds of content that cards of older versions have instead of media types. */
const kinds: ReadonlyMap<string, string> = new Map([
  ['text', 'text/*'],
  ['image', 'image/*'],
  ['audio', 'audio/*'],
  ['video', 'video/*'],
  ['data', 'application/json'],
  ['json', 'application/json'],
  ['file', '*/*'],
])

/** Whether a text is a media type, a range such as `text/*`, or the name of a kind of content such as `text`. */
export function isMediaRange(text: string): boolean {
  return /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+$/.test(toRange(text))
}

/** Whether a media type is in one of the ranges. Parameters such as `charset` are ignored. */
export function isInRanges(mediaType: string, ranges: readonly string[]): boolean {
  return ranges.some((range) => overlap(toRange(mediaType), toRange(range)))
}

function toRange(text: string): string {
  const end = text.indexOf(';')
  const type = (end < 0 ? text : text.slice(0, end)).trim().toLowerCase()
  return kinds.get(type) ?? (type === '*' ? '*/*' : type)
}

function overlap(one: string, other: string): boolean {
  if (one === other || one === '*/*' || other === '*/*') return true
  const [oneType, oneSubtype] = one.split('/')
  const [otherType, otherSubtype] = other.split('/')
  return oneType === otherType && (oneSubtype === '*' || otherSubtype === '*')
}
