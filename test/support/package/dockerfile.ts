import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Steps that `npm install` and `npm test` have done in this repository already: their results are taken over. With
 * `FULL_IMAGE=1` they run as well, on a copy without `node_modules`.
 */
const doneBefore: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  'npm install --ignore-scripts --no-audit --no-fund': (folder) =>
    symlink(join(root, 'node_modules'), join(folder, 'node_modules')),
  'npm run build': (folder) => cp(join(root, 'dist'), join(folder, 'dist'), { recursive: true }),
}

export interface Image {
  /** The working directory of the last stage. */
  readonly folder: string
  readonly command: readonly string[]
  remove(): Promise<void>
}

/** Runs the steps of a Dockerfile in a temporary folder, without Docker: each stage has a folder as its root. */
export async function buildImage(dockerfile: string): Promise<Image> {
  const text = await readFile(join(root, dockerfile), 'utf8')
  const ignored = (await readFile(join(root, '.dockerignore'), 'utf8')).split('\n')
  const temporary = await mkdtemp(join(tmpdir(), 'parley-image-'))
  const stages = new Map<string, string>()
  let stage = ''
  let folder = ''
  let command: readonly string[] = []

  async function copy(args: readonly string[]): Promise<void> {
    const from = args[0]?.startsWith('--from=') ? args[0].slice('--from='.length) : undefined
    const [target = '', ...sources] = args.slice(from === undefined ? 0 : 1).toReversed()
    for (const source of sources) {
      const path = join(from === undefined ? root : (stages.get(from) ?? `no stage ${from}`), source)
      const copiesContent = source === '.' || source.endsWith('/')
      const names = copiesContent ? (await readdir(path)).filter((name) => !ignored.includes(name)) : ['']
      for (const name of names) {
        const destination = copiesContent ? join(folder, target, name) : join(folder, target, basename(source))
        const filter = (file: string) => !ignored.includes(`**/${basename(file)}`)
        await cp(join(path, name), destination, { recursive: true, filter })
      }
    }
  }

  for (const line of text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
    const [instruction, ...args] = line.split(' ')
    const argument = args.join(' ')
    if (instruction === 'FROM') {
      stage = join(temporary, `${stages.size}`)
      stages.set(args[2] ?? `${stages.size}`, stage)
    } else if (instruction === 'WORKDIR') {
      folder = join(stage, argument)
      await mkdir(folder, { recursive: true })
    } else if (instruction === 'COPY') await copy(args)
    else if (instruction === 'RUN') {
      const takeOver = process.env.FULL_IMAGE ? undefined : doneBefore[argument]
      if (takeOver) await takeOver(folder)
      else await promisify(execFile)('sh', ['-c', argument], { cwd: folder, timeout: 600_000 })
    } else if (instruction === 'CMD') command = JSON.parse(argument)
    else if (instruction !== 'USER') throw new Error(`unknown instruction: ${line}`)
  }
  return { folder, command, remove: () => rm(temporary, { recursive: true, force: true }) }
}
