import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMemoryEntries } from '../../src/registry/index.ts'
import { createSqliteEntries } from '../../src/stores/sqlite/index.ts'
import { meshCard } from '../support/mesh.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { registryEntriesContract } from './registry-entries.ts'

describe('registry entries: memory', () => registryEntriesContract(async (options) => createMemoryEntries(options)))

describe('registry entries: SQLite', () => {
  registryEntriesContract(async (options) =>
    createSqliteEntries({ file: join(await temporaryDirectory(), 'made', 'registry.db'), ...options }),
  )

  it('survive the process', async () => {
    const file = join(await temporaryDirectory(), 'registry.db')
    const first = createSqliteEntries({ file })
    await first.put({ id: 'tea-agent', card: meshCard('tea-agent'), endpoint: 'https://tea.example.com/', seen: 1 })
    await first.close()
    const second = createSqliteEntries({ file })
    expect((await second.find({ capabilities: ['prices'], limit: 1 })).total).toBe(1)
    await second.close()
  })
})
