import type { SchemaVersion } from '../../src/mesh/payloads.ts'
import { isSchema, type Schema } from './base.ts'
import { meshSchemas } from './mesh-schemas.ts'

/** Written by hand in `_values.py`: they accept objects of Python, or lenient ids. */
const values = ['DateTime', 'MessageId', 'Nonce', 'Timestamp']

/** The Pydantic models of one version. */
export function pythonModels(version: SchemaVersion): string {
  const names: string[] = []
  const messages: string[] = []
  const blocks: string[] = []
  for (const [file, schema] of meshSchemas(version)) {
    for (const [name, each] of Object.entries((schema.definitions ?? {}) as Record<string, Schema>)) {
      names.push(name)
      if (!values.includes(name)) blocks.push(define(name, each))
    }
    const title = String(schema.title)
    names.push(title)
    const isBase = file === 'base-message.json'
    const narrowed = isBase ? schema : ((schema.allOf as readonly Schema[])[1] ?? {})
    blocks.push(
      classOf(title, isBase ? 'Envelope' : 'BaseMessage', {
        ...narrowed,
        description: schema.description,
        examples: schema.examples,
      }),
    )
    if (!isBase && title !== 'AuthenticatedMessage') messages.push(title)
  }
  blocks.push(`Message = Annotated[Union[${messages.join(', ')}], Field(discriminator="message_type")]
"""Any envelope of this version, discriminated by its type."""`)
  const exported = [...names, 'Message'].sort().map((name) => `    "${name}",`)
  return `"""Models of version ${version}. Made by schemas/build from the JSON Schemas: do not edit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import ConfigDict, Field

from ._values import DateTime, Envelope, Integer, MessageId, No, Nonce, Number, Strict, Text, Timestamp, Yes

__all__ = [
${exported.join('\n')}
]

${blocks.join('\n\n')}
`
}

function define(name: string, schema: Schema): string {
  if (schema.type === 'object' && isSchema(schema.properties)) return `\n${classOf(name, 'Strict', schema)}\n`
  return `${name} = ${typeOf(schema, true)}\n"""${schema.description}"""`
}

function classOf(name: string, parent: string, schema: Schema): string {
  const { properties, required = [], additionalProperties, description, examples } = schema
  const isOpen = parent === 'Strict' && additionalProperties !== false
  const lines = Object.entries(properties as Record<string, Schema>).map(([member, memberSchema]) => {
    const isRequired = (required as readonly string[]).includes(member) || member === 'message_type'
    const unset = memberSchema.default === undefined ? 'None' : literal(memberSchema.default)
    const type = typeOf(memberSchema)
    const isNullable = isRequired || unset !== 'None' || type === 'None' || type.endsWith('| None')
    const documentation = `description=${literal(memberSchema.description)}, examples=${literal(memberSchema.examples)}`
    // Code that reads a request need not check for absent parameters.
    const unsetArgument = member === 'parameters' ? 'default_factory=dict' : `default=${unset}`
    return `    ${member}: ${type}${isNullable ? '' : ' | None'} = Field(${isRequired ? '' : `${unsetArgument}, `}${documentation})`
  })
  const config = `${isOpen ? 'extra="allow", ' : ''}json_schema_extra={"examples": ${literal(examples)}}`
  return [
    `class ${name}(${parent}):`,
    `    """${description}"""`,
    '',
    `    model_config = ConfigDict(${config})`,
    '',
    ...lines,
  ].join('\n')
}

function typeOf(schema: Schema, isAlias = false): string {
  const { $ref, const: only, enum: words, oneOf, anyOf, type } = schema
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1)
  // In Python, 1 equals True.
  if (typeof only === 'boolean') return only ? 'Yes' : 'No'
  if (only !== undefined) return `Literal[${literal(only)}]`
  if (Array.isArray(words)) return `Literal[${words.map(literal).join(', ')}]`
  if (Array.isArray(oneOf)) return `Union[${oneOf.map((each) => typeOf(each)).join(', ')}]`
  if (Array.isArray(anyOf)) return anyOf.map((each) => typeOf(each)).join(' | ')
  switch (type) {
    case 'string':
      return textType(schema, isAlias)
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    case 'integer':
    case 'number':
      return constrained(type === 'integer' ? 'Integer' : 'Number', { Ge: schema.minimum, Le: schema.maximum })
    case 'array':
      return constrained(`list[${typeOf(schema.items as Schema)}]`, {
        MinLen: schema.minItems,
        MaxLen: schema.maxItems,
      })
    default:
      return 'dict[str, Any]'
  }
}

function textType({ pattern, minLength, maxLength }: Schema, isAlias: boolean): string {
  const rules = [
    pattern !== undefined && `r"${pattern}"`,
    minLength !== undefined && `min_length=${minLength}`,
    maxLength !== undefined && `max_length=${maxLength}`,
  ].filter(Boolean)
  if (rules.length === 0) return 'str'
  const call = `Text(${rules.join(', ')})`
  return isAlias ? `Annotated[\n    str,\n    ${call},\n]` : `Annotated[str, ${call}]`
}

function constrained(type: string, rules: Readonly<Record<string, unknown>>): string {
  const present = Object.entries(rules).filter(([, value]) => value !== undefined)
  if (present.length === 0) return type
  return `Annotated[${type}, ${present.map(([name, value]) => `${name}(${value})`).join(', ')}]`
}

/** A JSON value as a Python expression. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (isSchema(value)) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${literal(member)}`)
    return `{${members.join(', ')}}`
  }
  return JSON.stringify(value)
}
