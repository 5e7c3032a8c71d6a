#!/usr/bin/env node
// The executable `parley`. It loads nothing for `--version`, so that scripts and prompts can call it freely; run.ts does
// the work. commands.ts lists the commands and explains how to add one.

const [only, ...others] = process.argv.slice(2)

if ((only === '--version' || only === '-v') && others.length === 0) {
  const { readFileSync } = await import('node:fs')
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${version}\n`)
} else {
  await import('../core/base/node-version.ts').catch(({ message }: Error) => {
    process.stderr.write(`${message}\n`)
    process.exit(1)
  })
  const { run } = await import('./run.ts')
  await run(process.argv.slice(2))
}
