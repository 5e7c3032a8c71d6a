import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A real Chromium: the one that `CHROMIUM_PATH` names, else that of the system, else the one inside an npm package. */
export async function launchChromium(): Promise<Browser> {
  const failures: string[] = []
  for (const find of [named, installed, unpacked, unpackedWithLibraries]) {
    try {
      const found = await find()
      if (found) return await chromium.launch({ ...found, args: flags, timeout: 30_000 })
    } catch (error) {
      failures.push(`${find.name}: ${error instanceof Error ? error.message.split('\n', 3).join(' ') : error}`)
    }
  }
  throw new Error(`${help}\n${failures.join('\n')}`)
}

const help = [
  'There is no Chromium for the browser tests.',
  'On Linux (x64) `npm ci` brings one; elsewhere install one (`apt install chromium`, `brew install chromium`)',
  'or set CHROMIUM_PATH to the program.',
].join(' ')

interface Found {
  readonly executablePath: string
  readonly env?: Record<string, string>
}

async function named(): Promise<Found | undefined> {
  const { CHROMIUM_PATH } = process.env
  return CHROMIUM_PATH ? { executablePath: CHROMIUM_PATH } : undefined
}

async function installed(): Promise<Found | undefined> {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const folders = (process.env.PATH ?? '').split(delimiter)
  const apps = ['Chromium.app/Contents/MacOS/Chromium', 'Google Chrome.app/Contents/MacOS/Google Chrome']
  const paths = [
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
    ...apps.map((app) => join('/Applications', app)),
  ]
  const executablePath = paths.find((path) => existsSync(path))
  return executablePath ? { executablePath } : undefined
}

async function unpacked(): Promise<Found> {
  return { executablePath: join(await unpack(), 'chromium') }
}

/** The package has the libraries that a bare machine lacks. */
async function unpackedWithLibraries(): Promise<Found> {
  const folder = await unpack()
  const env = { ...(process.env as Record<string, string>), LD_LIBRARY_PATH: join(folder, 'al2023', 'lib') }
  return { executablePath: join(folder, 'chromium'), env }
}

/** Once per version. Two that unpack at the same time do not disturb each other: who is first wins. */
async function unpack(): Promise<string> {
  const about = await readFile(
    new URL('../../../node_modules/@sparticuz/chromium/package.json', import.meta.url),
    'utf8',
  )
  const { version } = JSON.parse(about) as { readonly version: string }
  const cache = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))
  const folder = join(cache, `chromium-${version}`)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const making = await mkdtemp(join(cache, 'making-'))
  // It unpacks into the folder for temporary files, and its libraries only where it believes to be in a cloud.
  const env = { ...process.env, TMPDIR: making, AWS_LAMBDA_JS_RUNTIME: 'nodejs24.x' }
  const script = "await (await import('@sparticuz/chromium')).default.executablePath()"
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env, cwd, timeout: 120_000 })
  await rename(making, folder).catch(async (error) => {
    await rm(making, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  })
  return folder
}
