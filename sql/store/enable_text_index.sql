-- Makes the column and the index by which store_search searches text. Called again with the same arguments it changes nothing.
--   p_config  a text search configuration, such as 'english'; 'simple' takes words as they are
--   p_fields  which texts of a value count: '$' all of them, or names joined by ".", with [*] behind a list, as in 'notes[*].text'
-- Locks: all access to store, while every item is written again. Errors: LG002.
create or replace function @extschema@.enable_text_index(p_config text default 'simple', p_fields text[] default '{$}')
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_config text;
  v_field text;
  v_there jsonb;
  v_wanted jsonb;
  v_texts text[] := '{}';
begin
  begin
    v_config := p_config::regconfig::text;
  exception when undefined_object or invalid_name or syntax_error then
    v_config := null;
  end;
  if v_config is null then
    perform @extschema@.reject_argument('text index', format('There is no text search configuration %L.', p_config),
      'Take one that pg_ts_config lists, such as english or simple.');
  end if;
  if coalesce(cardinality(p_fields), 0) = 0 then
    perform @extschema@.reject_argument('text index', 'No fields are named.', 'Pass {$} for all texts of a value, or their paths.');
  end if;
  foreach v_field in array p_fields loop
    if v_field is null or v_field <> '$' and v_field !~ '^[^].[$"]+(\[\*\])*(\.[^].[$"]+(\[\*\])*)*$' then
      perform @extschema@.reject_argument('text index', format('%L is no path.', v_field),
        'Write $ for the whole value, or names joined by ".", with [*] behind a list, as in notes[*].text.');
    end if;
    v_texts := v_texts || format('jsonb_to_tsvector(%L::regconfig, jsonb_path_query_array(value, %L), %L)', v_config,
      '$' || case when v_field <> '$' then regexp_replace(replace(v_field, '\', '\\'), '(^|\.)([^].[]+)', '."\2"', 'g') else '' end,
      '["string", "numeric"]');
  end loop;

  perform pg_advisory_xact_lock(hashtextextended('@extschema@.text_search', 0));
  select s.value into v_there from @extschema@.settings s where s.key = 'text_index';
  v_wanted := jsonb_build_object('config', v_config, 'fields', p_fields);
  if v_there = v_wanted then
    return;
  end if;
  if v_there is not null then
    perform @extschema@.reject_argument('text index', format('There is one of %s; asked for was %s.', v_there, v_wanted),
      'To begin anew drop the column text_search of store and the row "text_index" of settings, then call this again.');
  end if;
  execute format('alter table @extschema@.store add column text_search tsvector generated always as (%s) stored',
    array_to_string(v_texts, ' || '));
  comment on column @extschema@.store.text_search is 'The words that store_search finds the item by; see enable_text_index.';
  create index store_text_search_idx on @extschema@.store using gin (text_search);
  insert into @extschema@.settings (key, value) values ('text_index', v_wanted);
end
$fn$;

comment on function @extschema@.enable_text_index(text, text[]) is
  'Makes the column and the index by which store_search searches text.';
revoke all on function @extschema@.enable_text_index(text, text[]) from public;
