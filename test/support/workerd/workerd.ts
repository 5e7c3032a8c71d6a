import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { programPath } from '../programs/programs.ts'

/** A Worker that runs in workerd, with the Durable Object class `TaskObject` as the binding `TASKS`. */
export interface RunningWorker {
  readonly url: string
  /** What workerd printed. */
  readonly output: () => string
  /** Ends workerd without warning. Its storage stays. */
  kill(): Promise<void>
}

/** Bundles a Worker as a deployment does: one file, without Node. */
export async function bundleWorker(file: string): Promise<string> {
  const bundle = await rolldown({
    input: file,
    tsconfig: 'tsconfig.json',
    platform: 'neutral',
    external: /^(cloudflare|node):/,
    plugins: [resolveWorkerd],
    resolve: {
      mainFields: ['module', 'main'],
      conditionNames: ['workerd', 'worker', 'import', 'default'],
    },
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false, minify: true })
  await bundle.close()
  return output[0].code
}

/** The condition `workerd` of package.json, which the paths of tsconfig.json do not know. */
const resolveWorkerd: Plugin = {
  name: 'resolve-workerd',
  resolveId: {
    filter: { id: /^parley-a2a\/server$/ },
    handler: () => fileURLToPath(new URL('../../../src/entries/server.workerd.ts', import.meta.url)),
  },
}

/** Runs a bundled Worker, with its storage in a directory. */
export async function startWorker(code: string, directory: string): Promise<RunningWorker> {
  await mkdir(join(directory, 'storage'), { recursive: true })
  await writeFile(join(directory, 'worker.mjs'), code)
  await writeFile(join(directory, 'config.capnp'), configuration)
  const args = ['serve', 'config.capnp', '--control-fd=3', `--directory-path=storage=${join(directory, 'storage')}`]
  const child = spawn(await programPath('workerd'), args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000)
    })
  }
  const port = await portOf(child, () => output)
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

async function portOf(child: ChildProcess, output: () => string): Promise<number> {
  for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
    const { event, port } = JSON.parse(line) as { readonly event: string; readonly port?: number }
    if (event === 'listen' && port !== undefined) return port
  }
  throw new Error(`workerd does not listen: ${output()}`)
}

const configuration = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "storage", disk = (writable = true)),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-01-01",
  durableObjectNamespaces = [(className = "TaskObject", uniqueKey = "parley-tasks", enableSql = true)],
  durableObjectStorage = (localDisk = "storage"),
  bindings = [(name = "TASKS", durableObjectNamespace = "TaskObject")],
);
`
