import type { OperatorRecord } from '../../core/base/operator-state.ts'
import { type ConsoleAgent, operatorLogOf } from '../agents.ts'
import type { LogLine } from '../contract.ts'
import { fieldsOf, type TaskLine } from '../task-lines.ts'

/** Lines that are shown of one task. */
const maxLines = 500

/** Lines of tasks that a process has kept in its memory. */
export interface ProcessLines {
  /** Names the process among the replicas. */
  readonly process: string
  /** Oldest first. */
  of(agent: ConsoleAgent['agent']): readonly TaskLine[]
}

/**
 * The last log lines about a task: those that any process has stored, and those that this one has kept beyond that.
 * `number` distinguishes the lines of a process.
 */
export async function readLogLines(
  agent: ConsoleAgent,
  taskId: string,
  { process, of }: ProcessLines,
): Promise<readonly LogLine[]> {
  const stored = await operatorLogOf(agent).records.read('log', { lists: [taskId], limit: maxLines })
  const own = of(agent.agent).filter((line) => line.taskId === taskId)
  const lines = [...stored.map(decodeLine), ...own.map((line) => lineOf(line, process))]
  const byKey = new Map(lines.map((line) => [`${line.process} ${line.number}`, line]))
  return [...byKey.values()]
    .sort((one, other) => one.at - other.at || one.number - other.number)
    .slice(-maxLines)
    .map(({ number: _, ...line }) => line)
}

type NumberedLine = LogLine & { readonly number: number }

function lineOf(line: TaskLine, process: string): NumberedLine {
  const { number, at, level, message } = line
  return { number, at, level, message, fields: fieldsOf(line), process }
}

function decodeLine({ at, value }: OperatorRecord): NumberedLine {
  return { ...(JSON.parse(value) as Omit<NumberedLine, 'at'>), at }
}
