-- Makes the column and the index by which store_search searches text. Called again with the same arguments it changes
-- nothing; with others it is LG002.
--   p_config  a text search configuration: 'simple' takes words as they are, 'english' knows its endings and stop words
--   p_fields  paths of the texts as LangGraph writes them (a.b, list[0], list[-1], list[*], *); $ is every text and number
-- Locks: all access to store, while every item is written again. Errors: LG002.
create or replace function @extschema@.enable_text_index(p_config text default 'simple', p_fields text[] default '{$}')
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_is record;
  v_paths jsonpath[] := @extschema@.store_text_paths(p_fields);
  v_config text;
begin
  select case n.nspname when 'pg_catalog' then quote_ident(c.cfgname) else format('%I.%I', n.nspname, c.cfgname) end into v_config
  from pg_catalog.pg_ts_config c
  join pg_catalog.pg_namespace n on n.oid = c.cfgnamespace
  where p_config in (c.cfgname, n.nspname || '.' || c.cfgname, format('%I.%I', n.nspname, c.cfgname))
  order by n.nspname <> 'pg_catalog', n.nspname
  limit 1;
  if v_config is null then
    perform @extschema@.reject_argument('text search configuration', format('%L does not exist.', p_config),
      'Pass the name of one of pg_ts_config, such as simple or english.');
  end if;
  perform pg_advisory_xact_lock(hashtextextended('@extschema@.text_search', 0));
  select * into v_is from @extschema@.store_info();
  if v_is.text_config is not null then
    if v_is.text_config <> v_config or v_is.text_fields <> p_fields then
      perform @extschema@.reject_argument('text index',
        format('There is one already: configuration %s, fields %s.', v_is.text_config, v_is.text_fields),
        'To change it, drop the column text_search of the table store and call this again.');
    end if;
    return;
  end if;
  execute format('alter table @extschema@.store add column text_search tsvector '
    'generated always as (@extschema@.store_text_search(%L::regconfig, value, %L::jsonpath[])) stored', v_config, v_paths);
  execute 'create index store_text_search_idx on @extschema@.store using gin (text_search)';
  comment on column @extschema@.store.text_search is 'The words of the item for the text search of store_search.';
  comment on index @extschema@.store_text_search_idx is 'The text search of store_search.';
  insert into @extschema@.settings (key, value)
  values ('text_index', jsonb_build_object('config', v_config, 'fields', p_fields))
  on conflict (key) do update set value = excluded.value, updated_at = now();
end
$fn$;

comment on function @extschema@.enable_text_index(text, text[]) is
  'Makes the column and the index by which store_search searches text.';
revoke all on function @extschema@.enable_text_index(text, text[]) from public;
