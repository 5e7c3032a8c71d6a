import { readdirSync, readFileSync } from 'node:fs'

export interface ExampleText {
  readonly title: string
  readonly valid: readonly string[]
  /** The message as in the file, including the spelling of numbers and escapes. */
  readonly text: string
}

/** All examples of the package. Each is one line that ends with the message. */
export function readExamples(): readonly ExampleText[] {
  return ['generated', 'hand-written'].flatMap((folder) => {
    const directory = new URL(`../../schemas/examples/${folder}/`, import.meta.url)
    return readdirSync(directory).flatMap((file) =>
      readFileSync(new URL(file, directory), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('  {'))
        .map(readExample),
    )
  })
}

function readExample(line: string): ExampleText {
  const { title, valid } = JSON.parse(line.replace(/,$/, ''))
  const start = line.indexOf('"message":') + '"message":'.length
  return { title, valid, text: line.slice(start, line.lastIndexOf('}')) }
}
