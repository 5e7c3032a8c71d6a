import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts'
import { connect } from '../../entries/client.ts'
import type { JsonObject } from '../base/json.ts'
import { agent } from '../node/local-agent.node.ts'
import { typedSkills } from '../protocol/extensions/typed-skills.ts'
import { skill } from './skill.ts'
import { skillTypesOf } from './skill-types.ts'

const orders = agent({
  name: 'Order desk',
  skills: [
    skill({
      id: 'place-order',
      name: 'Order',
      description: 'Orders things. /* now */',
      input: z.object({
        items: z.array(z.object({ sku: z.string(), count: z.number().int().optional() })),
        pay: z.enum(['card', 'invoice']),
        note: z.string().nullable(),
        labels: z.record(z.string(), z.boolean()),
      }),
      output: z.union([z.object({ ok: z.literal(true) }), z.tuple([z.string(), z.number()])]),
      run: () => ({ ok: true as const }),
    }),
    skill({ id: 'help', name: 'Help', run: () => 'no' }),
  ],
})

it('the generated types compile and check calls', { timeout: 60_000 }, async () => {
  const { card } = await connect(orders)
  const written = skillTypesOf(card)
  expect(written).toMatchInlineSnapshot(`
    "/** What the skills of "Order desk" take and give, as its card says. */
    export type OrderDeskSkills = {
      /** Orders things. /* now *\\/ */
      readonly "place-order": {
        readonly input: { readonly "items": readonly ({ readonly "sku": string; readonly "count"?: number })[]; readonly "pay": "card" | "invoice"; readonly "note": string | null; readonly "labels": { readonly [key: string]: boolean } }
        readonly output: ({ readonly "ok": true }) | (readonly [string, number])
      }
      /** Help */
      readonly "help": {
        readonly input: string
        readonly output: string
      }
    }
    "
  `)

  const directory = await temporaryDirectory()
  await writeFile(join(directory, 'skills.d.ts'), written)
  await writeFile(
    join(directory, 'use.ts'),
    `import type { OrderDeskSkills as Skills } from './skills.d.ts'
     export const given: Skills['place-order']['input'] = { items: [{ sku: 'a' }], pay: 'card', note: null, labels: { x: true } }
     export const got: Skills['place-order']['output'][] = [{ ok: true }, ['a', 1]]
     export const help: Skills['help'] = { input: 'a', output: 'b' }
     // @ts-expect-error
     export const wrong: Skills['place-order']['input'] = { items: [], pay: 'cash', note: null, labels: {} }`,
  )
  const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--allowImportingTsExtensions', '--module', 'nodenext']
  const compiled = promisify(execFile)(process.execPath, [tsc, ...options, join(directory, 'use.ts')])
  expect(await compiled.catch(({ stdout }) => ({ stdout }))).toMatchObject({ stdout: '' })
})

it('recursive and unknown schemas become finite types', () => {
  const tree: JsonObject = {
    $defs: {
      node: { type: 'object', properties: { left: { $ref: '#/$defs/node' }, right: { $ref: '#/$defs/node' } } },
    },
    $ref: '#/$defs/node',
  }
  const written = skillTypesOf({
    name: '7 of 9',
    skills: ['tree', 'far', 'not', 'text'].map((id) => ({ id, name: id, description: '', tags: [] })),
    capabilities: {
      extensions: [
        {
          uri: typedSkills,
          params: { skills: { tree: { input: tree }, far: { input: { $ref: 'https://example.com' } }, not: 'x' } },
        },
      ],
    },
  })
  expect(written.length).toBeLessThan(100_000)
  expect(written).toContain('export type Agent7Of9Skills')
  expect(written).toContain('readonly "far": {\n    readonly input: unknown\n    readonly output: string')
  expect(() => skillTypesOf({ name: 'a', skills: [], capabilities: {} }, { name: 'no name' })).toThrow('name of a type')
})
