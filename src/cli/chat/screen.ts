import { stripVTControlCharacters } from 'node:util'
import { type Output, wrap, wrapLine } from '../output.ts'

/** Shows the answer of an agent while it arrives: complete lines, and the line that still grows. */
export interface Screen {
  /** Prints a complete line. */
  line(text: string): void
  /** Shows the line that is not complete yet, instead of its former state. Without a terminal, it is not shown. */
  grow(text: string): void
  /** Removes what is shown only for a while. */
  end(): void
}

/** `waiting` says what is shown after a second without output. */
export function createScreen(output: Output, waiting: string): Screen {
  const { stdout } = process
  let endProgress = output.progress(waiting)
  /** Rows of the terminal that the growing line takes. */
  let rows = 0

  function clear(): void {
    if (rows > 0) stdout.write(`\r${rows > 1 ? `\u001b[${rows - 1}A` : ''}\u001b[J`)
    rows = 0
  }

  return {
    line(text) {
      clear()
      output.print(wrapLine(text, stdout))
      endProgress()
      endProgress = output.progress(waiting)
    },
    grow(text) {
      if (!stdout.isTTY || text === '') return
      endProgress()
      clear()
      const { columns = 80, rows: height = 24 } = stdout
      // A line that is longer than the screen shows its end; it is printed in full when it is complete.
      const shown = wrap(text, columns - 1).slice(-Math.max(1, height - 2))
      stdout.write(output.redact(shown.join('\n')))
      rows = shown.reduce((sum, each) => sum + Math.max(1, Math.ceil(widthOf(each) / columns)), 0)
    },
    end() {
      clear()
      endProgress()
    },
  }
}

/** Columns that a text takes: East Asian characters and emoji take two. */
function widthOf(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text)) width += wide.test(character) ? 2 : 1
  return width
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u
