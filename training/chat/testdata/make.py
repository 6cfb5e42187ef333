"""Write jinja.json: what the Jinja library itself, set up as the transformers library does it, makes of the templates here.

    python3 make.py > jinja.json     (jinja2 3.1)
"""
import json
import jinja2.ext
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """{% generation %} marks what a model says, and writes what is in it."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


env = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None: json.dumps(x, ensure_ascii=ensure_ascii, indent=indent)
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda f: {"%d %b %Y": "02 Jan 2026"}[f]

templates = {
    "turns": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
             "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "default system": """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) or message.role == "assistant" and not message.tool_calls %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "headers": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{#- the system message goes first #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday: " + date_string + "\\n\\n" + system_message + "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "thoughts": """{%- set ns = namespace(last=messages|length - 1, looking=true) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.looking and message.role == "user" and message.content is string and not(message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.looking = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last %}
            {{- '[A]<think>' + thought.strip('\\n') + '</think>' + content.lstrip('\\n') + '[/A]' }}
        {%- else %}
            {{- '[A]' + content + '[/A]' }}
        {%- endif %}
    {%- else %}
        {{- '[' + message.role + ']' + content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[A]' }}
{%- endif %}
""",
    "alternating": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}
{%- for m in rest %}
{%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{%- if m['role'] == 'user' %}{{ '[U] ' + (system ~ '\\n\\n' + m.content) if loop.last and system is defined else '[U] ' + m.content }}{{ ' [/U]' }}
{%- else %}{{ ' ' + m['content']|trim + eos_token }}{% endif %}
{%- endfor %}
""",
    "generation": "{% for m in messages %}\n  {% if m.role == 'assistant' %}\n<A>{% generation %}{{ m.content }}{% endgeneration %}</A>\n  {% else %}\n<{{ m.role }}>{{ m.content }}\n  {% endif %}\n{% endfor %}\n{{ '<A>' if add_generation_prompt }}",
    "last and json": "{{ messages[-1].role }}{{ messages[-1]['content'] }}|{{ messages | tojson }}|{{ messages[0] | tojson(indent=2) }}{{ messages[:-1]|length }}",
    "macro": "{% macro turn(role, text) -%}\n[{{ role }}]{{ text }}\n{%- endmacro %}{% for m in messages if m.role != 'system' %}{% if loop.index > 2 %}{% break %}{% endif %}{{ turn(m.role, m['content']) }}{{ loop.previtem is defined }}{% endfor %}{{ messages|map(attribute='role')|join(',') }}",
}

system = {"role": "system", "content": "Be  terse.\n\n"}
user = {"role": "user", "content": " 2+2? {{ x }} {% y %} <b>\"q\" 'r' ü </tool>\n"}
answer = {"role": "assistant", "content": "<think>\nhm\n</think>\n\n4 & <i>\n"}
again = {"role": "user", "content": "Again"}

cases = []
for name, template in templates.items():
    for messages in ([system, user], [user], [system, user, answer], [user, answer], [system, user, answer, again, answer], [user, again]):
        for generate in (True, False):
            case = {"name": name, "template": template, "messages": messages, "generate": generate}
            try:
                case["want"] = env.from_string(template).render(
                    messages=messages, add_generation_prompt=generate, bos_token="<s>", eos_token="</s>", tools=None, documents=None)
            except jinja2.exceptions.TemplateError as e:
                case["error"] = str(e)
            cases.append(case)
print(json.dumps(cases, indent=1, ensure_ascii=False))
