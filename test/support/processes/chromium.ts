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

/** Launches Chromium: from `CHROMIUM_PATH`, from the system, or from an npm package, in this order. */
export async function launchChromium(): Promise<Browser> {
  const failures: string[] = []
  for (const find of [fromEnvironment, fromSystem, fromPackage, fromPackageWithLibraries]) {
    try {
      const executable = await find()
      if (executable) return await chromium.launch({ ...executable, args: flags, timeout: 30_000 })
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

interface Executable {
  readonly executablePath: string
  readonly env?: Record<string, string>
}

async function fromEnvironment(): Promise<Executable | undefined> {
  const { CHROMIUM_PATH } = process.env
  return CHROMIUM_PATH ? { executablePath: CHROMIUM_PATH } : undefined
}

async function fromSystem(): Promise<Executable | undefined> {
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

async function fromPackage(): Promise<Executable> {
  return { executablePath: join(await unpack(), 'chromium') }
}

/** The package contains libraries that a minimal system lacks. */
async function fromPackageWithLibraries(): Promise<Executable> {
  const folder = await unpack()
  const env = { ...(process.env as Record<string, string>), LD_LIBRARY_PATH: join(folder, 'al2023', 'lib') }
  return { executablePath: join(folder, 'chromium'), env }
}

/** Unpacks once per version. If two processes unpack at the same time, the first one wins. */
async function unpack(): Promise<string> {
  const manifest = await readFile(
    new URL('../../../node_modules/@sparticuz/chromium/package.json', import.meta.url),
    'utf8',
  )
  const { version } = JSON.parse(manifest) as { readonly version: string }
  const cache = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))
  const folder = join(cache, `chromium-${version}`)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const temporary = await mkdtemp(join(cache, 'unpacking-'))
  // The package unpacks into TMPDIR, and unpacks its libraries only if it detects AWS Lambda.
  const env = { ...process.env, TMPDIR: temporary, AWS_LAMBDA_JS_RUNTIME: 'nodejs24.x' }
  const script = "await (await import('@sparticuz/chromium')).default.executablePath()"
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env, cwd, timeout: 120_000 })
  await rename(temporary, folder).catch(async (error) => {
    await rm(temporary, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  })
  return folder
}
