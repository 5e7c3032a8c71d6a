import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventParser, EventTooLarge, type ReadEvent } from './sse-reader.ts'

function read(pieces: readonly string[], limit = 1_000): readonly ReadEvent[] {
  const take = createEventParser(limit)
  // An empty name is none.
  return pieces.flatMap((piece) => [...take(piece)].map(({ event, ...rest }) => ({ ...rest, ...(event && { event }) })))
}

function referenceRead(pieces: readonly string[]): readonly ReadEvent[] {
  const events: ReadEvent[] = []
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ ...(id !== undefined && { id }), ...(event && { event }), data }),
  })
  for (const piece of pieces) parser.feed(piece)
  return events
}

const fragment = fc.constantFrom(
  ...[
    'data',
    'event',
    'id',
    'retry',
    'other',
    ':',
    ': ',
    ' ',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    '\0',
    'x',
    'ü',
    '{"a":1}',
    '',
  ],
)

describe('the parser of events', () => {
  it('reads what another parser reads, however the text is made and cut', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join('')),
          { maxLength: 12 },
        ),
        (pieces) => {
          expect(read(pieces)).toEqual(referenceRead(pieces))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('takes an event of the limit and none that is longer, however it is cut', () => {
    for (const cut of [1, 3, 7, 1_000]) {
      const piecesOf = (length: number) =>
        `data: ${'x'.repeat(length)}\n\n`.match(new RegExp(`[^]{1,${cut}}`, 'g')) ?? []
      expect(read(piecesOf(50), 50)).toHaveLength(1)
      expect(() => read(piecesOf(51), 50)).toThrow(EventTooLarge)
    }
  })

  it('tells what is whole before what is too long', () => {
    const take = createEventParser(10)(`data: 1\n\ndata: ${'x'.repeat(11)}\n\n`)
    expect(take.next().value).toEqual({ data: '1' })
    expect(() => take.next()).toThrow(EventTooLarge)
  })

  it('reads an event of many pieces in time that grows with its length', () => {
    const pieces = ['data: ', ...Array<string>(200_000).fill('0123456789'), '\n\n']
    expect(read(pieces, 2_000_000)[0]?.data).toHaveLength(2_000_000)
  })
})
