import type { Json, JsonObject } from '../protocol/model.ts'
import { isObject } from './conformance.ts'
import type { About, SkillInfo } from './entry.ts'

const maxText = 10_000
const maxTags = 100

/** What a card says of its agent. All versions of A2A say it in the same way. */
export function aboutOf(card: JsonObject): About {
  const { capabilities } = card
  const { extensions, ...flags } = isObject(capabilities) ? capabilities : {}
  const features = Object.keys(flags).filter((name) => flags[name] === true)
  const uris = list(extensions).flatMap((each) => (isObject(each) && typeof each.uri === 'string' ? [each.uri] : []))
  return {
    description: text(card.description),
    version: text(card.version),
    skills: list(card.skills).filter(isObject).map(skillOf),
    features: [...features, ...uris].slice(0, maxTags),
  }
}

function skillOf({ id, name, description, tags }: JsonObject): SkillInfo {
  const labels = list(tags).filter((each) => typeof each === 'string')
  return { id: text(id), name: text(name), description: text(description), tags: labels.slice(0, maxTags) }
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, maxText) : ''
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
