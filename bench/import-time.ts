import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { interleave, median } from './measure.ts'
import type { Benchmark } from './report.ts'

const rounds = 21

/** The time that `import` takes in a new process, without the start of Node. */
export const importTime: Benchmark = {
  name: 'import-time',
  async run() {
    const measured = await interleave(rounds, {
      parley: () => timeToImport('parley-a2a'),
      express: () => timeToImport('express'),
    })
    const detail = (name: 'parley' | 'express') => ({
      package: name === 'parley' ? 'parley-a2a' : 'express',
      milliseconds: Math.round(median(measured.map((round) => round[name]))),
    })
    return {
      title: "Import of the package's root",
      comparisons: [
        {
          label: 'time, Parley : Express',
          values: measured.map((round) => round.parley / round.express),
          unit: 'x',
          target: { atMost: 1 },
        },
      ],
      details: [detail('parley'), detail('express')],
    }
  },
}

async function timeToImport(name: string): Promise<number> {
  const code = `const start = performance.now(); await import('${name}'); console.log(performance.now() - start)`
  const cwd = new URL('..', import.meta.url)
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { cwd })
  return Number(stdout)
}
