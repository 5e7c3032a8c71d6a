import { expect, it } from 'vitest'
import type { Style } from '../output.ts'
import { createMarkdownWriter } from './markdown.ts'

const style: Style = (text, ...formats) => `<${formats.join(' ')}>${text}</>`

/** The screen after each piece: the printed lines, and the line that grows. */
function render(...pieces: readonly string[]): readonly string[] {
  const lines: string[] = []
  let growing = ''
  const screen = {
    line(text: string) {
      lines.push(text)
      growing = ''
    },
    grow(text: string) {
      growing = text
    },
  }
  const writer = createMarkdownWriter(screen, style)
  const states = pieces.map((piece) => {
    writer.write(piece)
    return [...lines, growing].join('\n')
  })
  writer.end()
  return [...states, lines.join('\n')]
}

it('a line is shown while it grows, and printed once when it is complete', () => {
  expect(render('The ti', 'de **ris', 'es** now', '.\nDone')).toEqual([
    'The ti',
    'The tide **ris',
    'The tide <bold>rises</> now',
    'The tide <bold>rises</> now.\nDone',
    'The tide <bold>rises</> now.\nDone',
  ])
})

it('headings, lists, quotes, code and links are rendered, and marks inside of code stay', () => {
  const [, last] = render('# A `b`\n- one\n> said\n[text](https://a.example)\n```ts\na **b**\n```\nend')
  expect(last).toBe(
    [
      '<bold>A <cyan>b</></>',
      '• one',
      '<dim>│</> said',
      '<underline>text</> (https://a.example)',
      '<dim>  ts</>',
      '  <cyan>a **b**</>',
      '<dim></>',
      'end',
    ].join('\n'),
  )
})

it('the mark of a code block that arrives in pieces begins one block', () => {
  const states = render('``', '`js\nx', '\n``', '`\ny')
  expect(states.at(-1)).toBe('<dim>  js</>\n  <cyan>x</>\n<dim></>\ny')
})

it('control sequences of an agent do not reach the terminal', () => {
  expect(render('a\u001b[2Jb\u0007\n').at(-1)).toBe('a[2Jb')
})

it('a table is printed when it is complete, with columns as wide as their cells', () => {
  const states = render('| A | Number |\n|---|', '--:|\n| long | 1 |\n', 'after\n')
  expect(states[1]).toBe('')
  expect(states.at(-1)).toBe(['<bold>A</>     <bold>Number</>', '<dim>────  ──────</>', 'long  1', 'after'].join('\n'))
})

it('lines with bars that are no table stay as they are', () => {
  expect(render('| a | b |\nend\n').at(-1)).toBe('| a | b |\nend')
})
