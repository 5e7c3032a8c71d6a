import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { createAgentLoop, localTool } from 'parley-a2a/loop'
import { z } from 'zod'
import { createHandWrittenLoop } from './hand-written-loop.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'

const rounds = 15
const steps = 50
const deltas = 2_000
/** How often the two candidates alternate within one sample. */
const alternations = 8
const warmUp = 2

/** CPU cost of the agent loop, compared with a hand-written loop without A2A over the same model and tool. */
export const loop: Benchmark = { name: 'loop', run: measure }

type Part = LanguageModelV4StreamPart

const usage = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: undefined, reasoning: undefined },
}
const finish = (unified: 'stop' | 'tool-calls'): Part => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw: undefined },
})

/** A model that calls the tool `calls` times and then sends `words` words. It derives its progress from the prompt. */
function createModel(calls: number, words: number) {
  const call = (step: number): Part[] => [
    { type: 'tool-call', toolCallId: `call-${step}`, toolName: 'add', input: '{"a":1,"b":2}' },
    finish('tool-calls'),
  ]
  const answer = (): Part[] => [
    ...Array.from({ length: words }, (): Part => ({ type: 'text-delta', id: '1', delta: 'word ' })),
    finish('stop'),
  ]
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const step = (prompt.length - 1) / 2
      // The mock keeps every prompt, which would keep all measured objects alive.
      if (step === 0) model.doStreamCalls.length = 0
      const chunks = step < calls ? call(step) : answer()
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) }
    },
  })
  return model
}

const adder = {
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { readonly a: number; readonly b: number }) => ({ sum: a + b }),
}
const tool = localTool(adder)

function parleyLoop(calls: number, words: number): () => Promise<number> {
  const model = createModel(calls, words)
  const { invoke } = createAgentLoop({ model, tools: [tool], maxSteps: calls + 1, maxToolCalls: calls + 1 })
  const ids = { taskId: 'task', contextId: 'context' }
  return async () => {
    let deltaCount = 0
    await new Promise<void>((complete, error) => {
      const next = (event: { readonly type: string }) => void (event.type === 'artifact' && deltaCount++)
      invoke([{ text: 'go' }], ids).subscribe({ next, complete, error })
    })
    return deltaCount
  }
}

function handWrittenLoop(calls: number, words: number): () => Promise<number> {
  const run = createHandWrittenLoop({
    model: createModel(calls, words),
    tools: [adder],
    maxSteps: calls + 1,
    maxToolCalls: calls + 1,
  })
  return async () => {
    let deltaCount = 0
    await run('go', () => void deltaCount++, new AbortController().signal)
    return deltaCount
  }
}

interface Sample {
  readonly parley: number
  readonly handWritten: number
}

/** Measures CPU microseconds per step or delta. The candidates alternate, so that disturbances affect both. */
function createComparison(calls: number, words: number, of: number, times: number): () => Promise<Sample> {
  const [runParley, runHandWritten] = [parleyLoop(calls, words), handWrittenLoop(calls, words)]
  return async () => {
    const sums = { parley: 0, handWritten: 0 }
    for (let n = 0; n < alternations; n++) {
      sums.parley += await cost(runParley, words, times)
      sums.handWritten += await cost(runHandWritten, words, times)
    }
    const all = of * times * alternations
    return { parley: sums.parley / all, handWritten: sums.handWritten / all }
  }
}

/** Runs often enough that each candidate pays for its own garbage collection. */
async function cost(work: () => Promise<number>, expected: number, times: number): Promise<number> {
  const before = process.cpuUsage()
  for (let n = 0; n < times; n++) {
    const deltaCount = await work()
    if (deltaCount < expected) throw new Error(`expected ${expected} deltas, got ${deltaCount}`)
  }
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function measure(): Promise<BenchmarkResult> {
  const candidates = { step: createComparison(steps, 1, steps, 100), delta: createComparison(0, deltas, deltas, 15) }
  for (let n = 0; n < warmUp; n++) for (const run of Object.values(candidates)) await run()
  const measured = await interleave(rounds, candidates)
  const comparison = (label: string, name: keyof typeof candidates) => ({
    label,
    values: measured.map((round) => round[name].parley / round[name].handWritten),
    unit: 'x' as const,
    target: { atMost: 1.5 },
  })
  const detail = (what: string, name: keyof typeof candidates) => ({
    what,
    'Parley, CPU µs': Number(median(measured.map((round) => round[name].parley)).toPrecision(3)),
    'hand-written, CPU µs': Number(median(measured.map((round) => round[name].handWritten)).toPrecision(3)),
  })
  return {
    title: 'An agent loop over a model and a tool, CPU compared with a hand-written loop without A2A',
    comparisons: [comparison('a step with a tool call', 'step'), comparison('a streamed delta', 'delta')],
    details: [detail('a step', 'step'), detail('a delta', 'delta')],
  }
}
