/** A server-sent event as it came. */
export interface ReadEvent {
  readonly id?: string
  readonly event?: string
  /** Of Parley: the id of the event before it. */
  readonly follows?: string
  readonly data: string
}

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge'
  constructor(limit: number) {
    super(`an event is longer than ${limit} characters`)
  }
}

/** The name of the field is held together with its text until the line ends. */
const label = 'data: '.length

/**
 * Reads server-sent events (WHATWG HTML §9.2.6) from text that may be cut anywhere: of each piece the events that end
 * in it. It holds one event at the most, and that up to `limit` characters. An event without an id has none here, since
 * whoever numbers events numbers all of them.
 */
export function createEventParser(limit: number): (piece: string) => Generator<ReadEvent, void> {
  let line = ''
  let isAfterReturn = false
  let fields: { id?: string; event?: string; follows?: string; data?: string } = {}

  function takeLine(): void {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`
    else if (name === 'event' || name === 'follows' || (name === 'id' && !value.includes('\0'))) fields[name] = value
  }

  return function* take(piece) {
    const [first = '', ...others] = (isAfterReturn ? piece.replace(/^\n/, '') : piece).split(/\r\n?|\n/)
    if (piece !== '') isAfterReturn = piece.endsWith('\r')
    line += first
    for (const next of others) {
      const { data, ...rest } = fields
      if (line !== '') takeLine()
      else {
        fields = {}
        if (data !== undefined) yield { ...rest, data }
      }
      if ((fields.data?.length ?? 0) > limit) throw new EventTooLarge(limit)
      line = next
    }
    if ((fields.data?.length ?? 0) + line.length > limit + label) throw new EventTooLarge(limit)
  }
}
