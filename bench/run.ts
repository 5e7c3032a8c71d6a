import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { auth } from './auth.ts'
import { blockingSend } from './blocking-send.ts'
import { dialects } from './dialects.ts'
import { discovery } from './discovery.ts'
import { grpc } from './grpc.ts'
import { longTask } from './long-task.ts'
import { loop } from './loop.ts'
import { mesh } from './mesh.ts'
import { postgresAppend } from './postgres-append.ts'
import { postgresLatency } from './postgres-latency.ts'
import { postgresLongTask } from './postgres-long-task.ts'
import { push } from './push.ts'
import { type Answer, isMet, printAnswer, toMarkdown } from './report.ts'
import { pinToLoadCore } from './server-process.ts'
import { slowReaders } from './slow-readers.ts'
import { startUp } from './start-up.ts'

/** Asks all questions, or those that are named, of the package as it is built in `dist/`. */
const all = [
  auth,
  blockingSend,
  dialects,
  discovery,
  grpc,
  longTask,
  loop,
  mesh,
  postgresAppend,
  postgresLatency,
  postgresLongTask,
  push,
  slowReaders,
  startUp,
]
const named = process.argv.slice(2)
const unknown = named.filter((name) => !all.some((question) => question.name === name))
if (unknown.length > 0) throw new Error(`no question ${unknown}; there are ${all.map(({ name }) => name).join(', ')}`)
if (!existsSync(new URL('../dist/index.js', import.meta.url))) throw new Error('nothing is built: npm run build')

pinToLoadCore()
const answers: Answer[] = []
for (const question of all) {
  if (named.length > 0 && !named.includes(question.name)) continue
  const answer = await question.ask()
  printAnswer(answer)
  answers.push(answer)
}
if (named.length === 0) await writeFile(new URL('./results.md', import.meta.url), toMarkdown(answers))
if (!answers.every(({ verdicts }) => verdicts.every(isMet))) process.exitCode = 1
