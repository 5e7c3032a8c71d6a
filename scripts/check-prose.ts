/**
 * Lists words and constructions that our prose avoids, in comments, test titles and Markdown: `node scripts/check-prose.ts [path…]`.
 * A tool, not a gate. It exits with 1 if it finds something.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface Rule {
  readonly pattern: RegExp
  readonly advice: string
}

interface Line {
  readonly number: number
  readonly text: string
}

const versionOrStore = String.raw`(?:A2A |version )?(?:0\.\d|1\.0|SQLite|PostgreSQL|JSON-RPC|REST|gRPC|the mesh)\b`

const rules: readonly Rule[] = [
  { pattern: /\b(?:tells?|told|telling)\b/gi, advice: 'use a technical verb: send, emit, report, return' },
  { pattern: /\b(?:nobody|somebody|whoever|whomever|anybody)\b/gi, advice: 'name the actor' },
  { pattern: /\b[Tt]hose who\b|(?:^|[.!?]\s+)Those (?:that|which)\b/g, advice: 'name the actor' },
  {
    pattern: /(?:^|[.!?:]\s+)Who(?:m|se)? (?!\S.*\?)/g,
    advice: 'name the actor instead of a sentence that starts with "Who"',
  },
  {
    pattern: /(?:^|[.!?:]\s+)What (?:is|was|has|does|cannot|must) [^.?]*? (?:is|are|was|gets|goes|comes|stays)\b/g,
    advice: 'name the subject instead of "What is …"',
  },
  { pattern: /, too(?=[.,;:)]|$)/g, advice: 'use "also" or rewrite' },
  { pattern: /\b(?:be|were) (?:it|they) (?:ever|as|by|a|an|the)\b/gi, advice: 'write "even if" or "whether"' },
  { pattern: /\b(?:goes|went|going) on\b|\bgo on\b/gi, advice: 'use continue or resume' },
  {
    pattern:
      /(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|such\b|other\b)(?:object|list|string|number|JSON|URL|task|stream|message|error|part)\b/gi,
    advice: 'write "is not a …"',
  },
  {
    pattern: new RegExp(
      String.raw`\b(?:callers?|clients?|peers?|servers?|readers?|speakers?|logs?|stores?|streams?|calls?|messages?|cards?) of ${versionOrStore}`,
      'g',
    ),
    advice: 'use English order: "0.3 clients", "SQLite log"',
  },
  {
    pattern: /\b(?:doors?|detours?|couriers?|ledgers?|lodgings?|lobby|desks?|mouths?)\b/gi,
    advice: 'no metaphors; see the glossary in ARCHITECTURE.md',
  },
]

const files = execFileSync('git', ['ls-files', '--', ...process.argv.slice(2)], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|tsx|md)$/.test(file) && !file.endsWith('.d.ts'))

let count = 0
for (const file of files) {
  const source = readFileSync(file, 'utf8')
  for (const { number, text } of file.endsWith('.md') ? markdownLines(source) : codeLines(source)) {
    for (const { pattern, advice } of rules) {
      for (const [found] of text.matchAll(pattern)) {
        count++
        console.log(`${file}:${number}: "${found.trim()}": ${advice}`)
      }
    }
  }
}
console.log(count === 0 ? 'No avoided words found.' : `${count} found.`)
process.exitCode = count === 0 ? 0 : 1

/** Every line outside code blocks, without inline code and the targets of links. */
function markdownLines(source: string): readonly Line[] {
  let isCode = false
  return source.split('\n').flatMap((line, index) => {
    if (/^\s*```/.test(line)) {
      isCode = !isCode
      return []
    }
    return isCode ? [] : [{ number: index + 1, text: line.replace(/`[^`]*`/g, '`…`').replace(/\]\([^)]*\)/g, ']') }]
  })
}

/** Comments and test titles. Works by line: strings that look like comments are rare enough to be ignored. */
function codeLines(source: string): readonly Line[] {
  const title = /(?:\b(?:it|test|describe)\b[^'"`]*|^\s*[\])}]+\)\()(['"`])(?<text>.*?)\1/
  const comment = /^\s*(?:\/\*\*?|\*|\/\/)\s?(?<whole>.*?)(?:\*\/)?$|\s\/\/ (?<trailing>.*)$/
  return source.split('\n').flatMap((line, index) => {
    const found = comment.exec(line)?.groups ?? title.exec(line)?.groups
    const text = found?.whole ?? found?.trailing ?? found?.text
    return text === undefined ? [] : [{ number: index + 1, text: text.replace(/`[^`]*`/g, '`…`') }]
  })
}
