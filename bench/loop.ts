import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { createAgentLoop, localTool } from 'parley-a2a/loop'
import { z } from 'zod'
import { createLoopByHand } from './loop-by-hand.ts'
import { interleave, median } from './measure.ts'
import type { Answer, Question } from './report.ts'

const rounds = 15
const steps = 50
const deltas = 2_000
/** How often the one and the other take turns for one sample. */
const turns = 8
const warmUp = 2

/** What a loop costs against one that is written by hand over the same model and tool, and speaks no A2A. */
export const loop: Question = { name: 'loop', ask: measure }

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

/** Calls the tool so often, and then says so many words. It tells by the prompt how far it is. */
function modelOf(calls: number, words: number) {
  const call = (step: number): Part[] => [
    { type: 'tool-call', toolCallId: `call-${step}`, toolName: 'add', input: '{"a":1,"b":2}' },
    finish('tool-calls'),
  ]
  const say = (): Part[] => [
    ...Array.from({ length: words }, (): Part => ({ type: 'text-delta', id: '1', delta: 'word ' })),
    finish('stop'),
  ]
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const step = (prompt.length - 1) / 2
      // The mock keeps every prompt that it was given, and would so hold all that is measured.
      if (step === 0) model.doStreamCalls.length = 0
      const chunks = step < calls ? call(step) : say()
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

function ours(calls: number, words: number): () => Promise<number> {
  const model = modelOf(calls, words)
  const { invoke } = createAgentLoop({ model, tools: [tool], maxSteps: calls + 1, maxToolCalls: calls + 1 })
  const ids = { taskId: 'task', contextId: 'context' }
  return async () => {
    let told = 0
    await new Promise<void>((complete, error) => {
      const next = (event: { readonly type: string }) => void (event.type === 'artifact' && told++)
      invoke([{ text: 'go' }], ids).subscribe({ next, complete, error })
    })
    return told
  }
}

function byHand(calls: number, words: number): () => Promise<number> {
  const run = createLoopByHand({
    model: modelOf(calls, words),
    tools: [adder],
    maxSteps: calls + 1,
    maxToolCalls: calls + 1,
  })
  return async () => {
    let told = 0
    await run('go', () => void told++, new AbortController().signal)
    return told
  }
}

interface Sample {
  readonly ours: number
  readonly byHand: number
}

/** Gives what measures microseconds of CPU for each of so many. In turns: what disturbs the one disturbs the other. */
function comparing(calls: number, words: number, of: number, times: number): () => Promise<Sample> {
  const [mine, theirs] = [ours(calls, words), byHand(calls, words)]
  return async () => {
    const sums = { ours: 0, byHand: 0 }
    for (let n = 0; n < turns; n++) {
      sums.ours += await cost(mine, words, times)
      sums.byHand += await cost(theirs, words, times)
    }
    const all = of * times * turns
    return { ours: sums.ours / all, byHand: sums.byHand / all }
  }
}

/** So often at a time that who makes garbage also pays for having it collected. */
async function cost(work: () => Promise<number>, expected: number, times: number): Promise<number> {
  const before = process.cpuUsage()
  for (let n = 0; n < times; n++) {
    const told = await work()
    if (told < expected) throw new Error(`expected ${expected} deltas, got ${told}`)
  }
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function measure(): Promise<Answer> {
  const candidates = { step: comparing(steps, 1, steps, 100), delta: comparing(0, deltas, deltas, 15) }
  for (let n = 0; n < warmUp; n++) for (const run of Object.values(candidates)) await run()
  const measured = await interleave(rounds, candidates)
  const verdict = (what: string, name: keyof typeof candidates) => ({
    what,
    values: measured.map((round) => round[name].ours / round[name].byHand),
    unit: 'x' as const,
    target: { atMost: 1.5 },
  })
  const detail = (what: string, name: keyof typeof candidates) => ({
    what,
    'ours, CPU µs': Number(median(measured.map((round) => round[name].ours)).toPrecision(3)),
    'by hand, CPU µs': Number(median(measured.map((round) => round[name].byHand)).toPrecision(3)),
  })
  return {
    title: 'A loop over a model and a tool, CPU against one that is written by hand without A2A',
    verdicts: [verdict('a step with a call of a tool', 'step'), verdict('a streamed delta', 'delta')],
    details: [detail('a step', 'step'), detail('a delta', 'delta')],
  }
}
