/**
 * What a store in PostgreSQL does about an error, by its SQLSTATE. The table lists every code of PostgreSQL 12 to 18
 * (appendix A of its documentation, `errcodes.txt` in its sources).
 *
 * - retry: the cause can pass by itself or be removed by an operator. Try again, with growing pauses.
 * - step down: this server may not write, and another one may be able to. Stop leading, and follow.
 * - refuse: the content of the statement is the cause, or a trigger that rejects it. The same statement would fail again,
 *   but others will not.
 * - stop: a bug, or damage that neither a retry nor another server can repair. End with a clear message.
 */
export type Verdict = "retry" | "step down" | "refuse" | "stop";

/**
 * Returns the verdict on a SQLSTATE. A code that is not in the table gets the verdict on the general code of its class
 * (53999 is treated like 53000). PostgreSQL raises no codes of other classes itself: they come from triggers, and are
 * refused.
 */
export function verdictOn(sqlstate: string): Verdict {
  return SQLSTATES.get(sqlstate) ?? SQLSTATES.get(`${sqlstate.slice(0, 2)}000`) ?? "refuse";
}

export const SQLSTATES: ReadonlyMap<string, Verdict> = new Map<string, Verdict>([
  // Class 00: successful completion
  ["00000", "refuse"], // successful_completion
  // Class 01: warning
  ["01000", "refuse"], // warning
  ["01003", "refuse"], // null_value_eliminated_in_set_function
  ["01004", "refuse"], // string_data_right_truncation
  ["01006", "refuse"], // privilege_not_revoked
  ["01007", "refuse"], // privilege_not_granted
  ["01008", "refuse"], // implicit_zero_bit_padding
  ["0100C", "refuse"], // dynamic_result_sets_returned
  ["01P01", "refuse"], // deprecated_feature
  // Class 02: no data
  ["02000", "refuse"], // no_data
  ["02001", "refuse"], // no_additional_dynamic_result_sets_returned
  // Class 03: sql statement not yet complete
  ["03000", "stop"], // sql_statement_not_yet_complete
  // Class 08: connection exception
  ["08000", "retry"], // connection_exception
  ["08001", "retry"], // sqlclient_unable_to_establish_sqlconnection
  ["08003", "retry"], // connection_does_not_exist
  ["08004", "retry"], // sqlserver_rejected_establishment_of_sqlconnection
  ["08006", "retry"], // connection_failure
  ["08007", "retry"], // transaction_resolution_unknown
  ["08P01", "retry"], // protocol_violation
  // Class 09: triggered action exception
  ["09000", "refuse"], // triggered_action_exception
  // Class 0A: feature not supported
  ["0A000", "stop"], // feature_not_supported
  // Class 0B: invalid transaction initiation
  ["0B000", "stop"], // invalid_transaction_initiation
  // Class 0F: locator exception
  ["0F000", "stop"], // locator_exception
  ["0F001", "stop"], // invalid_locator_specification
  // Class 0L: invalid grantor
  ["0L000", "stop"], // invalid_grantor
  ["0LP01", "stop"], // invalid_grant_operation
  // Class 0P: invalid role specification
  ["0P000", "stop"], // invalid_role_specification
  // Class 0Z: diagnostics exception
  ["0Z000", "refuse"], // diagnostics_exception
  ["0Z002", "refuse"], // stacked_diagnostics_accessed_without_active_handler
  // Class 10: xquery error
  ["10608", "refuse"], // invalid_argument_for_xquery
  // Class 20: case not found
  ["20000", "refuse"], // case_not_found
  // Class 21: cardinality violation
  ["21000", "refuse"], // cardinality_violation
  // Class 22: data exception
  ["22000", "refuse"], // data_exception
  ["22001", "refuse"], // string_data_right_truncation
  ["22002", "refuse"], // null_value_no_indicator_parameter
  ["22003", "refuse"], // numeric_value_out_of_range
  ["22004", "refuse"], // null_value_not_allowed
  ["22005", "refuse"], // error_in_assignment
  ["22007", "refuse"], // invalid_datetime_format
  ["22008", "refuse"], // datetime_field_overflow
  ["22009", "refuse"], // invalid_time_zone_displacement_value
  ["2200B", "refuse"], // escape_character_conflict
  ["2200C", "refuse"], // invalid_use_of_escape_character
  ["2200D", "refuse"], // invalid_escape_octet
  ["2200F", "refuse"], // zero_length_character_string
  ["2200G", "refuse"], // most_specific_type_mismatch
  ["2200H", "refuse"], // sequence_generator_limit_exceeded
  ["2200L", "refuse"], // not_an_xml_document
  ["2200M", "refuse"], // invalid_xml_document
  ["2200N", "refuse"], // invalid_xml_content
  ["2200S", "refuse"], // invalid_xml_comment
  ["2200T", "refuse"], // invalid_xml_processing_instruction
  ["22010", "refuse"], // invalid_indicator_parameter_value
  ["22011", "refuse"], // substring_error
  ["22012", "refuse"], // division_by_zero
  ["22013", "refuse"], // invalid_preceding_or_following_size
  ["22014", "refuse"], // invalid_argument_for_ntile_function
  ["22015", "refuse"], // interval_field_overflow
  ["22016", "refuse"], // invalid_argument_for_nth_value_function
  ["22018", "refuse"], // invalid_character_value_for_cast
  ["22019", "refuse"], // invalid_escape_character
  ["2201B", "refuse"], // invalid_regular_expression
  ["2201E", "refuse"], // invalid_argument_for_logarithm
  ["2201F", "refuse"], // invalid_argument_for_power_function
  ["2201G", "refuse"], // invalid_argument_for_width_bucket_function
  ["2201W", "refuse"], // invalid_row_count_in_limit_clause
  ["2201X", "refuse"], // invalid_row_count_in_result_offset_clause
  ["22021", "refuse"], // character_not_in_repertoire
  ["22022", "refuse"], // indicator_overflow
  ["22023", "refuse"], // invalid_parameter_value
  ["22024", "refuse"], // unterminated_c_string
  ["22025", "refuse"], // invalid_escape_sequence
  ["22026", "refuse"], // string_data_length_mismatch
  ["22027", "refuse"], // trim_error
  ["2202E", "refuse"], // array_subscript_error
  ["2202G", "refuse"], // invalid_tablesample_repeat
  ["2202H", "refuse"], // invalid_tablesample_argument
  ["22030", "refuse"], // duplicate_json_object_key_value
  ["22031", "refuse"], // invalid_argument_for_sql_json_datetime_function
  ["22032", "refuse"], // invalid_json_text
  ["22033", "refuse"], // invalid_sql_json_subscript
  ["22034", "refuse"], // more_than_one_sql_json_item
  ["22035", "refuse"], // no_sql_json_item
  ["22036", "refuse"], // non_numeric_sql_json_item
  ["22037", "refuse"], // non_unique_keys_in_a_json_object
  ["22038", "refuse"], // singleton_sql_json_item_required
  ["22039", "refuse"], // sql_json_array_not_found
  ["2203A", "refuse"], // sql_json_member_not_found
  ["2203B", "refuse"], // sql_json_number_not_found
  ["2203C", "refuse"], // sql_json_object_not_found
  ["2203D", "refuse"], // too_many_json_array_elements
  ["2203E", "refuse"], // too_many_json_object_members
  ["2203F", "refuse"], // sql_json_scalar_required
  ["2203G", "refuse"], // sql_json_item_cannot_be_cast_to_target_type
  ["22P01", "refuse"], // floating_point_exception
  ["22P02", "refuse"], // invalid_text_representation
  ["22P03", "refuse"], // invalid_binary_representation
  ["22P04", "refuse"], // bad_copy_file_format
  ["22P05", "refuse"], // untranslatable_character
  ["22P06", "refuse"], // nonstandard_use_of_escape_character
  // Class 23: integrity constraint violation
  ["23000", "refuse"], // integrity_constraint_violation
  ["23001", "refuse"], // restrict_violation
  ["23502", "refuse"], // not_null_violation
  ["23503", "refuse"], // foreign_key_violation
  ["23505", "refuse"], // unique_violation
  ["23514", "refuse"], // check_violation
  ["23P01", "refuse"], // exclusion_violation
  // Class 24: invalid cursor state
  ["24000", "stop"], // invalid_cursor_state
  // Class 25: invalid transaction state
  ["25000", "stop"], // invalid_transaction_state
  ["25001", "stop"], // active_sql_transaction
  ["25002", "stop"], // branch_transaction_already_active
  ["25003", "stop"], // inappropriate_access_mode_for_branch_transaction
  ["25004", "stop"], // inappropriate_isolation_level_for_branch_transaction
  ["25005", "stop"], // no_active_sql_transaction_for_branch_transaction
  ["25006", "step down"], // read_only_sql_transaction
  ["25007", "stop"], // schema_and_data_statement_mixing_not_supported
  ["25008", "stop"], // held_cursor_requires_same_isolation_level
  ["25P01", "stop"], // no_active_sql_transaction
  ["25P02", "stop"], // in_failed_sql_transaction
  ["25P03", "retry"], // idle_in_transaction_session_timeout
  ["25P04", "retry"], // transaction_timeout
  // Class 26: invalid sql statement name
  ["26000", "stop"], // invalid_sql_statement_name
  // Class 27: triggered data change violation
  ["27000", "refuse"], // triggered_data_change_violation
  // Class 28: invalid authorization specification
  ["28000", "step down"], // invalid_authorization_specification
  ["28P01", "step down"], // invalid_password
  // Class 2B: dependent privilege descriptors still exist
  ["2B000", "stop"], // dependent_privilege_descriptors_still_exist
  ["2BP01", "stop"], // dependent_objects_still_exist
  // Class 2D: invalid transaction termination
  ["2D000", "stop"], // invalid_transaction_termination
  // Class 2F: sql routine exception
  ["2F000", "refuse"], // sql_routine_exception
  ["2F002", "refuse"], // modifying_sql_data_not_permitted
  ["2F003", "refuse"], // prohibited_sql_statement_attempted
  ["2F004", "refuse"], // reading_sql_data_not_permitted
  ["2F005", "refuse"], // function_executed_no_return_statement
  // Class 34: invalid cursor name
  ["34000", "stop"], // invalid_cursor_name
  // Class 38: external routine exception
  ["38000", "refuse"], // external_routine_exception
  ["38001", "refuse"], // containing_sql_not_permitted
  ["38002", "refuse"], // modifying_sql_data_not_permitted
  ["38003", "refuse"], // prohibited_sql_statement_attempted
  ["38004", "refuse"], // reading_sql_data_not_permitted
  // Class 39: external routine invocation exception
  ["39000", "refuse"], // external_routine_invocation_exception
  ["39001", "refuse"], // invalid_sqlstate_returned
  ["39004", "refuse"], // null_value_not_allowed
  ["39P01", "refuse"], // trigger_protocol_violated
  ["39P02", "refuse"], // srf_protocol_violated
  ["39P03", "refuse"], // event_trigger_protocol_violated
  // Class 3B: savepoint exception
  ["3B000", "stop"], // savepoint_exception
  ["3B001", "stop"], // invalid_savepoint_specification
  // Class 3D: invalid catalog name
  ["3D000", "stop"], // invalid_catalog_name
  // Class 3F: invalid schema name
  ["3F000", "stop"], // invalid_schema_name
  // Class 40: transaction rollback
  ["40000", "retry"], // transaction_rollback
  ["40001", "retry"], // serialization_failure
  ["40002", "refuse"], // transaction_integrity_constraint_violation
  ["40003", "retry"], // statement_completion_unknown
  ["40P01", "retry"], // deadlock_detected
  // Class 42: syntax error or access rule violation
  ["42000", "stop"], // syntax_error_or_access_rule_violation
  ["42501", "step down"], // insufficient_privilege
  ["42601", "stop"], // syntax_error
  ["42602", "stop"], // invalid_name
  ["42611", "stop"], // invalid_column_definition
  ["42622", "stop"], // name_too_long
  ["42701", "stop"], // duplicate_column
  ["42702", "stop"], // ambiguous_column
  ["42703", "stop"], // undefined_column
  ["42704", "stop"], // undefined_object
  ["42710", "stop"], // duplicate_object
  ["42712", "stop"], // duplicate_alias
  ["42723", "stop"], // duplicate_function
  ["42725", "stop"], // ambiguous_function
  ["42803", "stop"], // grouping_error
  ["42804", "stop"], // datatype_mismatch
  ["42809", "stop"], // wrong_object_type
  ["42830", "stop"], // invalid_foreign_key
  ["42846", "stop"], // cannot_coerce
  ["42883", "stop"], // undefined_function
  ["428C9", "stop"], // generated_always
  ["42939", "stop"], // reserved_name
  ["42P01", "stop"], // undefined_table
  ["42P02", "stop"], // undefined_parameter
  ["42P03", "stop"], // duplicate_cursor
  ["42P04", "stop"], // duplicate_database
  ["42P05", "stop"], // duplicate_prepared_statement
  ["42P06", "stop"], // duplicate_schema
  ["42P07", "stop"], // duplicate_table
  ["42P08", "stop"], // ambiguous_parameter
  ["42P09", "stop"], // ambiguous_alias
  ["42P10", "stop"], // invalid_column_reference
  ["42P11", "stop"], // invalid_cursor_definition
  ["42P12", "stop"], // invalid_database_definition
  ["42P13", "stop"], // invalid_function_definition
  ["42P14", "stop"], // invalid_prepared_statement_definition
  ["42P15", "stop"], // invalid_schema_definition
  ["42P16", "stop"], // invalid_table_definition
  ["42P17", "stop"], // invalid_object_definition
  ["42P18", "stop"], // indeterminate_datatype
  ["42P19", "stop"], // invalid_recursion
  ["42P20", "stop"], // windowing_error
  ["42P21", "stop"], // collation_mismatch
  ["42P22", "stop"], // indeterminate_collation
  // Class 44: with check option violation
  ["44000", "refuse"], // with_check_option_violation
  // Class 53: insufficient resources
  ["53000", "retry"], // insufficient_resources
  ["53100", "retry"], // disk_full
  ["53200", "retry"], // out_of_memory
  ["53300", "retry"], // too_many_connections
  ["53400", "retry"], // configuration_limit_exceeded
  // Class 54: program limit exceeded
  ["54000", "refuse"], // program_limit_exceeded
  ["54001", "refuse"], // statement_too_complex
  ["54011", "refuse"], // too_many_columns
  ["54023", "refuse"], // too_many_arguments
  // Class 55: object not in prerequisite state
  ["55000", "stop"], // object_not_in_prerequisite_state
  ["55006", "retry"], // object_in_use
  ["55P02", "stop"], // cant_change_runtime_param
  ["55P03", "retry"], // lock_not_available
  ["55P04", "stop"], // unsafe_new_enum_value_usage
  // Class 57: operator intervention
  ["57000", "retry"], // operator_intervention
  ["57014", "retry"], // query_canceled
  ["57P01", "retry"], // admin_shutdown
  ["57P02", "retry"], // crash_shutdown
  ["57P03", "retry"], // cannot_connect_now
  ["57P04", "stop"], // database_dropped
  ["57P05", "retry"], // idle_session_timeout
  // Class 58: system error
  ["58000", "retry"], // system_error
  ["58030", "retry"], // io_error
  ["58P01", "stop"], // undefined_file
  ["58P02", "stop"], // duplicate_file
  ["58P03", "stop"], // file_name_too_long
  // Class 72: snapshot failure
  ["72000", "retry"], // snapshot_too_old
  // Class F0: configuration file error
  ["F0000", "stop"], // config_file_error
  ["F0001", "stop"], // lock_file_exists
  // Class HV: foreign data wrapper error
  ["HV000", "refuse"], // fdw_error
  ["HV001", "refuse"], // fdw_out_of_memory
  ["HV002", "refuse"], // fdw_dynamic_parameter_value_needed
  ["HV004", "refuse"], // fdw_invalid_data_type
  ["HV005", "refuse"], // fdw_column_name_not_found
  ["HV006", "refuse"], // fdw_invalid_data_type_descriptors
  ["HV007", "refuse"], // fdw_invalid_column_name
  ["HV008", "refuse"], // fdw_invalid_column_number
  ["HV009", "refuse"], // fdw_invalid_use_of_null_pointer
  ["HV00A", "refuse"], // fdw_invalid_string_format
  ["HV00B", "refuse"], // fdw_invalid_handle
  ["HV00C", "refuse"], // fdw_invalid_option_index
  ["HV00D", "refuse"], // fdw_invalid_option_name
  ["HV00J", "refuse"], // fdw_option_name_not_found
  ["HV00K", "refuse"], // fdw_reply_handle
  ["HV00L", "refuse"], // fdw_unable_to_create_execution
  ["HV00M", "refuse"], // fdw_unable_to_create_reply
  ["HV00N", "refuse"], // fdw_unable_to_establish_connection
  ["HV00P", "refuse"], // fdw_no_schemas
  ["HV00Q", "refuse"], // fdw_schema_not_found
  ["HV00R", "refuse"], // fdw_table_not_found
  ["HV010", "refuse"], // fdw_function_sequence_error
  ["HV014", "refuse"], // fdw_too_many_handles
  ["HV021", "refuse"], // fdw_inconsistent_descriptor_information
  ["HV024", "refuse"], // fdw_invalid_attribute_value
  ["HV090", "refuse"], // fdw_invalid_string_length_or_buffer_length
  ["HV091", "refuse"], // fdw_invalid_descriptor_field_identifier
  // Class P0: pl/pgsql error
  ["P0000", "refuse"], // plpgsql_error
  ["P0001", "refuse"], // raise_exception
  ["P0002", "refuse"], // no_data_found
  ["P0003", "refuse"], // too_many_rows
  ["P0004", "refuse"], // assert_failure
  // Class XX: internal error
  ["XX000", "stop"], // internal_error
  ["XX001", "stop"], // data_corrupted
  ["XX002", "stop"], // index_corrupted
]);
