import { defined } from '../../core/base/json.ts'
import type { A2AEntry, RegistryStore } from '../entry.ts'
import { cardType } from './read-catalog.ts'

const pageSize = 200

const maxTags = 20

/** The publisher of a catalog. */
export interface CatalogHost {
  readonly displayName: string
  readonly identifier?: string
  readonly documentationUrl?: string
  readonly logoUrl?: string
}

/** Yields the A2A agents as a catalog, page by page, to bound memory use. Mesh peers have no A2A card and are left out. */
export async function* catalogText(entries: RegistryStore, host: CatalogHost | undefined): AsyncGenerator<string> {
  yield `{"specVersion":"1.0",${host ? `"host":${JSON.stringify(host)},` : ''}"entries":[`
  let isFirst = true
  for (let after: { readonly name: string; readonly id: string } | undefined; ; ) {
    const page = await entries.find(defined({ kind: 'a2a', limit: pageSize, uncounted: true, after }))
    const texts = page.entries.flatMap((entry) => (entry.kind === 'a2a' ? [JSON.stringify(catalogEntryOf(entry))] : []))
    if (texts.length > 0) yield `${isFirst ? '' : ','}${texts.join(',')}`
    isFirst &&= texts.length === 0
    after = page.entries.at(-1)
    if (page.entries.length < pageSize) break
  }
  yield ']}'
}

/** Contains no observations, so that it changes only when the card does. */
function catalogEntryOf({ id, name, about, cardUrl, card, changed }: A2AEntry) {
  const tags = [...new Set(about.skills.flatMap((skill) => skill.tags))].slice(0, maxTags)
  return {
    identifier: id,
    displayName: name,
    mediaType: cardType,
    ...(cardUrl === undefined ? { data: card } : { url: cardUrl }),
    ...defined({
      description: about.description === '' ? undefined : about.description,
      tags: tags.length > 0 ? tags : undefined,
      version: about.version === '' ? undefined : about.version,
    }),
    updatedAt: new Date(changed).toISOString(),
  }
}
